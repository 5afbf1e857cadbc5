// In make test: test/console/every-page.laptop.test.ts
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import {
	type ConsoleSession,
	noBrowser,
	openConsole,
	untilLoaded,
} from "./browser.ts";
import { withMouse } from "./hands.ts";
import { applySourceAndDestination, createPipeline, send } from "./shop.ts";

/** `make console-screenshots`: a folder for them. */
const { CONSOLE_SCREENSHOTS: folder = "" } = process.env;

describe.skipIf(noBrowser || folder === "")("pictures of the console", () => {
	let visitor: ConsoleSession;

	beforeAll(async () => {
		mkdirSync(folder, { recursive: true });
		visitor = await openConsole("shop", [
			"tidemill-editor",
			"tidemill-admin",
			"tidemill-log-reader",
		]);
		await applySourceAndDestination(visitor);
		await createPipeline(visitor, "orders");
		for (const [id, amount] of [19.9, 5, 120, 42.5, 8.25].entries())
			await send(visitor, {
				type: id % 2 ? "order.paid" : "order.placed",
				id: 1001 + id,
				total: { amount, currency: "EUR" },
				customer: { country: id % 2 ? "DE" : "FR" },
			});
		await visitor.local.run("tidemill", "pipelines", "run", "orders", "--wait");
	});
	afterAll(() => visitor?.close());

	test("each page, light, dark, and on a phone", async () => {
		const { page, open } = visitor;
		await openRun(visitor);
		const run = new URL(page.url()).pathname.split("/").at(-1);
		const plan = await makePlan(visitor);
		for (const path of [
			...["home", "sources", "sources/new", "sources/shop"],
			...["destinations", "destinations/new", "destinations/warehouse"],
			...["pipelines", "pipelines/new?source=shop", "pipelines/orders"],
			...["runs", "runs?view=calendar", `runs/${run}`],
			...["tracking-plans", `tracking-plans/${plan}`],
			...["tokens", "search"],
		])
			for (const [look, colorScheme, width, height] of [
				["light", "light", 1280, 860],
				["dark", "dark", 1280, 860],
				["phone", "light", 390, 844],
			] as const) {
				await page.setViewportSize({ width, height });
				await page.emulateMedia({ colorScheme });
				await open(path);
				await page.getByRole("heading", { level: 1 }).waitFor();
				await untilLoaded(page);
				const name = path.replace(`${run}`, "run").replaceAll(/[^a-z]+/g, "-");
				await page.screenshot({ path: join(folder, `${name}-${look}.png`) });
			}
	});
});

async function openRun({ page, open }: ConsoleSession): Promise<void> {
	await open("runs");
	await page
		.getByRole("link", { name: /^orders-/ })
		.first()
		.click();
	await page.getByText(/rows? (is|are) in the table/).waitFor();
}

async function makePlan({ page, open }: ConsoleSession): Promise<string> {
	const hands = withMouse(page);
	await open("tracking-plans/new");
	await hands.fill("Plan name", "orders");
	await hands.choose("Draft from recent events: Source", "shop");
	await hands.press("Draft the plan");
	await page.getByText(/^Drafted from/).waitFor();
	await hands.press("Create");
	await page.getByRole("heading", { level: 1, name: "orders" }).waitFor();
	await hands.choose("Use it for the source", "shop");
	await hands.press("Set the plan");
	await page.getByRole("button", { name: "Stop using it for shop" }).waitFor();
	return "orders";
}
