// In make test: test/console/every-page.laptop.test.ts
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ConsoleSession, noBrowser, openConsole } from "./browser.ts";
import { withKeyboard, withMouse } from "./hands.ts";

/* What surrounds every page. */

describe.skipIf(noBrowser)("around the pages of the console", () => {
	let visitor: ConsoleSession;

	beforeAll(async () => {
		visitor = await openConsole("console-shell", ["tidemill-editor"]);
		await visitor.local.run("tidemill", "sources", "create", "shop");
	});
	afterAll(() => visitor?.close());

	test("the link to the content leads there, and stays on the page", async () => {
		const { page, open } = visitor;
		await open("sources/shop");
		await page.getByRole("heading", { level: 1, name: "shop" }).waitFor();
		const before = page.url();
		await withKeyboard(page).follow("Skip to content");
		await page.locator("main:focus").waitFor();
		expect(page.url()).toBe(before);
		await page.getByRole("heading", { level: 1, name: "shop" }).waitFor();
	});

	test("the theme stays over other pages, filters, Back and a reload, and Escape closes the menu that has it", async () => {
		const { page, open } = visitor;
		const hands = withMouse(page);
		await open("runs");
		const menu = page.locator("details.visitor");
		await menu.locator("summary").click();
		await hands.choose("Theme", "Dark");
		await page.keyboard.press("Escape");
		await page.locator("summary:focus").waitFor();
		expect(await menu.getAttribute("open")).toBeNull();
		const dark = page.locator("html[data-theme=dark]");
		const stays = async () => {
			await page.reload();
			await page.getByRole("navigation").waitFor();
			expect(await dark.count()).toBe(1);
		};
		await hands.choose("Status", "Failed");
		await stays();
		await hands.follow("Pipelines");
		await page.getByRole("heading", { level: 1, name: "Pipelines" }).waitFor();
		await stays();
		await page.goBack();
		await page.getByRole("heading", { level: 1, name: "Runs" }).waitFor();
		await stays();
	});

	test("a failure that shows at the edge is an alert", async () => {
		const { page, open } = visitor;
		await page.route("**/test-event", (route) =>
			route.fulfill({
				status: 409,
				json: { status: 409, code: "Conflict", title: "Not now" },
			}),
		);
		await open("sources/shop");
		await withMouse(page).press("Send test event");
		await page.getByRole("alert").getByText("Not now").waitFor();
		await page.unrouteAll({ behavior: "ignoreErrors" });
	});

	test("what the API refuses names its field, and leads to it", async () => {
		const { page, open } = visitor;
		const hands = withMouse(page);
		await open("sources/new");
		await hands.fill("Source name", "No Name");
		await hands.press("Create");
		const alert = page.getByRole("alert").filter({ hasText: "That didn't" });
		const link = alert.getByRole("link", { name: "Source name" });
		await link.waitFor();
		await page.getByRole("link", { name: "Runs" }).focus();
		await link.click();
		const focused = page.locator("input:focus");
		expect(await focused.inputValue()).toBe("No Name");
	});
});
