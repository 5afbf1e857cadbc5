import { type AddressInfo, createServer } from "node:net";

/** True when nothing listens on the port of the loopback address. */
export function isFree(port: number): Promise<boolean> {
	return listen(port).then(
		() => true,
		() => false,
	);
}

/** A port that was free a moment ago. */
export function freePort(): Promise<number> {
	return listen(0);
}

function listen(port: number): Promise<number> {
	return new Promise((resolve, reject) => {
		const server = createServer();
		server.once("error", reject);
		server.listen(port, "127.0.0.1", () => {
			const chosen = (server.address() as AddressInfo).port;
			server.close(() => resolve(chosen));
		});
	});
}
