import {
	Flood,
	type FloodOrder,
} from "../../../test/support/strangers/flood.ts";

/**
 * Strangers as a process of their own, with a {@link FloodOrder} as its argument. Prints a line when all connections have been opened
 * once. On SIGTERM it prints how many the server holds, and ends.
 */
const order = JSON.parse(process.argv[2]!) as FloodOrder;
const flood = new Flood(order);
const look = setInterval(() => {
	if (flood.opened < order.connections) return;
	clearInterval(look);
	console.log("opened");
}, 20);
process.on("SIGTERM", () => {
	process.stdout.write(
		`${JSON.stringify({ opened: flood.opened, held: flood.held })}\n`,
		() => process.exit(),
	);
});
