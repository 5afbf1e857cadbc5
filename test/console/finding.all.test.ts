// In make test: test/console/every-page.laptop.test.ts
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
	aWhile,
	axeFindings,
	type ConsoleSession,
	expectPage,
	noBrowser,
	openConsole,
} from "./browser.ts";
import { applySourceAndDestination, createPipeline, send } from "./shop.ts";

describe.skipIf(noBrowser)("Who looks for something in the console", () => {
	let visitor: ConsoleSession;

	beforeAll(async () => {
		visitor = await openConsole("console-finding", [
			...["tidemill-editor", "tidemill-admin", "tidemill-log-reader"],
		]);
		await applySourceAndDestination(visitor);
		await createPipeline(visitor, "orders");
		await send(visitor, { type: "paid" });
	});
	afterAll(() => visitor?.close());

	const ask = async (text: string) => {
		const { page } = visitor;
		await page.keyboard.press("Control+k");
		const box = page.getByRole("combobox", { name: "Name, id or action" });
		await box.fill(text);
		return page.getByRole("dialog", { name: "Find or do" });
	};

	test("Control K goes to what has the name, by keys alone, and Escape leaves all as it was", async () => {
		const { page, open } = visitor;
		await open("home");
		await expectPage(page, "Home");
		await ask("wareh");
		expect(await axeFindings(page)).toEqual([]);
		await page.keyboard.press("Escape");
		await expectPage(page, "Home");
		const found = await ask("orders");
		await found
			.getByRole("option", { name: "orders pipeline", selected: true })
			.waitFor();
		await page.keyboard.press("Enter");
		await expectPage(page, "orders");
		await ask("nobody has this");
		await page.getByText("Nothing here has that name.").waitFor();
		await page.keyboard.press("Escape");
	});

	test("an action of Control K changes nothing without a second Enter on words that say what happens", async () => {
		const { page, local } = visitor;
		const runs = async () =>
			(await local.resource<{ items: unknown[] }>("get", "runs")).items.length;
		const found = await ask("run orders");
		await found
			.getByRole("option", { name: "Run orders now action", selected: true })
			.waitFor();
		await page.keyboard.press("Enter");
		await found
			.getByText("Press Enter to start a run of the pipeline orders now.")
			.waitFor();
		expect(await runs()).toBe(0);
		await page.keyboard.press("Enter");
		await page.getByRole("heading", { level: 1, name: /^orders-/ }).waitFor();
		expect(await runs()).toBe(1);
		await page.getByText(/rows? (is|are) in the table/).waitFor();
	});

	test("words that came between ask again", async () => {
		const { page, local } = visitor;
		const before = await local.run("kubectl", "get", "runs", "-o", "name");
		const found = await ask("run orders");
		await page.keyboard.press("Enter");
		await found.getByRole("button", { name: "Do it" }).waitFor();
		await page.keyboard.type(" now");
		await found
			.getByRole("button", { name: "Do it" })
			.waitFor({ state: "detached" });
		await page.keyboard.press("Escape");
		expect(await local.run("kubectl", "get", "runs", "-o", "name")).toBe(
			before,
		);
		expect(visitor.complaints).toEqual([]);
	});

	test("a long list is sorted by its heads, and searched", async () => {
		const { page, open, local } = visitor;
		for (let i = 0; i < 8; i++)
			await local.run("tidemill", "sources", "create", `list-${i}`);
		await open("sources");
		const names = () => page.locator("tbody th a").allInnerTexts();
		await expect.poll(async () => (await names()).length, aWhile).toBe(9);
		const events = page.getByRole("columnheader", { name: "Events, 30 days" });
		const head = events.getByRole("button");
		await head.click();
		await head.click();
		expect(await events.getAttribute("aria-sort")).toBe("descending");
		// Archive counts a minute later at the latest.
		await expect.poll(async () => (await names())[0], aWhile).toBe("shop");
		await page.getByLabel("Find in the list").fill("list-3");
		await page.getByText("1 of 9", { exact: true }).waitFor();
		expect(await names()).toEqual(["list-3"]);
		expect(await axeFindings(page)).toEqual([]);
	});
});
