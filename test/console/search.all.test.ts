// In make test: test/console/every-page.laptop.test.ts
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
	type ConsoleSession,
	expectPage,
	noBrowser,
	openConsole,
} from "./browser.ts";
import { withKeyboard, withMouse } from "./hands.ts";
import { applySourceAndDestination, createPipeline, send } from "./shop.ts";

describe.skipIf(noBrowser)("the search of the console", () => {
	let visitor: ConsoleSession;
	let id: string;

	beforeAll(async () => {
		visitor = await openConsole("console-search", ["tidemill-editor"]);
		await applySourceAndDestination(visitor);
		await createPipeline(visitor, "orders");
		id = await send(visitor, { id: 1 });
		await visitor.local.run("tidemill", "pipelines", "run", "orders");
	});
	afterAll(() => visitor?.close());

	test.each([
		["by mouse", withMouse],
		["by keyboard alone", withKeyboard],
	] as const)(
		"an event is found by its id, with the table and the Run that loaded it, %s",
		async (_how, handsOf) => {
			const { page, open } = visitor;
			const hands = handsOf(page);
			await open("search");
			await hands.fill("Event id", `{"event_id":"${id.toUpperCase()}"}`);
			await hands.press("Search");
			await page.getByText("Found in the source shop").waitFor();
			await page.getByText("Loaded", { exact: true }).waitFor();
			await page.getByRole("link", { name: /^orders-/ }).waitFor();
			expect(page.url()).toContain(`event=${id}`);
			await expectPage(page, "Search");
			expect(visitor.complaints).toEqual([]);
		},
	);

	test("what is no id, and an id of no event, are said", async () => {
		const { page, open } = visitor;
		const hands = withMouse(page);
		await open("search");
		await hands.fill("Event id", "<img src=x onerror=alert(1)>");
		await hands.press("Search");
		await page.getByText("An event id looks like").waitFor();
		const other = `${id.slice(0, -1)}${id.endsWith("0") ? 1 : 0}`;
		await hands.fill("Event id", other);
		await hands.press("Search");
		await page.getByRole("alert").getByText("There is no event").waitFor();
		await expectPage(page, "Search");
		expect(visitor.complaints).toEqual([]);
	});
});
