import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
	type ConsoleSession,
	expectPage,
	noBrowser,
	openConsole,
} from "./browser.ts";
import { withMouse } from "./hands.ts";
import { applySourceAndDestination, createPipeline, send } from "./shop.ts";

describe.skipIf(noBrowser)("Runs in the console", () => {
	let visitor: ConsoleSession;

	beforeAll(async () => {
		visitor = await openConsole("console-runs", ["tidemill-editor"]);
		await applySourceAndDestination(visitor);
		await createPipeline(visitor, "orders");
		await send(visitor, { id: 1 });
		await visitor.local.run("tidemill", "pipelines", "run", "orders", "--wait");
	});
	afterAll(() => visitor?.close());

	test("a Run is in the list, by filter, and on its day of the calendar", async () => {
		const { page, open } = visitor;
		const hands = withMouse(page);
		await open("runs");
		const run = page.getByRole("rowheader", { name: /^orders-/ });
		await run.waitFor();
		await hands.choose("Status", "Succeeded");
		await run.waitFor();
		expect(page.url()).toContain("status=Succeeded");
		await expectPage(page, "Runs");
		await hands.choose("Status", "Failed");
		await page.getByText("No run matches the filter.").waitFor();
		await hands.choose("Status", "");
		await hands.choose("View", "calendar");
		const today = new Date().toISOString().slice(0, 10);
		await page.getByRole("link", { name: `${today}: 1 Succeeded` }).waitFor();
		await expectPage(page, "Runs");
		await hands.follow(new RegExp(`${today}: 1 Succeeded`));
		await run.waitFor();
	});

	test("a Run of a Pipeline that isn't ready waits, says why, and is cancelled", async () => {
		const { page, open, local } = visitor;
		const hands = withMouse(page);
		await local.run(
			"tidemill",
			"pipelines",
			"create",
			"early",
			"--source=not-yet",
			"--destination=warehouse",
		);
		await open("pipelines/early");
		await hands.press("Run now");
		await page.getByRole("heading", { level: 1, name: /^early-/ }).waitFor();
		await page.getByRole("heading", { name: "What it waits for" }).waitFor();
		await expectPage(page, /^early-/);
		await hands.press("Cancel run");
		await hands.press("Cancel run", page.getByRole("dialog"));
		await page.getByText("Cancelled", { exact: true }).first().waitFor();
		await page.getByRole("button", { name: "Run again" }).waitFor();
	});

	test("a Run that isn't there is said", async () => {
		const { page, open } = visitor;
		await open("runs/none");
		await page.getByText(/A pipeline removes its oldest runs\./).waitFor();
		await expectPage(page, "none");
	});
});
