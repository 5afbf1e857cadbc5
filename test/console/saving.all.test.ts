// In make test: test/console/every-page.laptop.test.ts
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
	axeFindings,
	type ConsoleSession,
	noBrowser,
	openConsole,
} from "./browser.ts";
import { withMouse } from "./hands.ts";
import { applySourceAndDestination, createPipeline } from "./shop.ts";

/* What is saved is the text that is seen, and what is seen isn't lost. */

const broken = "kind: Pipeline\nspec:\n  table: [";

describe.skipIf(noBrowser)("saving in the console", () => {
	let visitor: ConsoleSession;
	let writes: string[];

	beforeAll(async () => {
		visitor = await openConsole("console-saving", ["tidemill-editor"]);
		await applySourceAndDestination(visitor);
		await createPipeline(visitor, "orders");
		writes = [];
		visitor.page.on("request", (request) => {
			if (["PUT", "POST"].includes(request.method()))
				writes.push(request.url());
		});
	});
	afterAll(() => visitor?.close());

	const editor = (page: Page) =>
		page.getByLabel("YAML of this Pipeline", { exact: true });
	const breakIt = async (page: Page) => {
		await page.getByText("YAML", { exact: true }).click();
		await withMouse(page).write("YAML of this Pipeline", broken);
		await page.getByText(/^The form can't show this YAML/).waitFor();
	};

	test("YAML that is none is not saved: Save opens the editor at the line, and the form waits", async () => {
		const { page, open, complaints } = visitor;
		const hands = withMouse(page);
		await open("pipelines/orders/edit");
		await breakIt(page);
		const field = page.getByLabel("Overwrite period");
		expect(await field.isDisabled()).toBe(true);
		// Out of sight.
		await page.getByText("YAML", { exact: true }).click();
		writes.length = 0;
		await hands.press("Save");
		await page.getByText(/^Nothing is saved\./).waitFor();
		await expect
			.poll(() =>
				editor(page).evaluate(
					(element) =>
						(element.getRootNode() as unknown as { activeElement: unknown })
							.activeElement === element,
				),
			)
			.toBe(true);
		expect(await axeFindings(page)).toEqual([]);
		expect(writes).toEqual([]);
		await hands.press("Discard changes");
		await page
			.getByText(/The form can't show this YAML/)
			.waitFor({ state: "detached" });
		expect(await field.isDisabled()).toBe(false);
		expect(await editor(page).innerText()).toContain("name: orders");
		expect(complaints).toEqual([]);
	});

	test("YAML that is none is asked about before the page is left: by a link, by Back, by signing out and by a reload", async () => {
		const { page, open, complaints } = visitor;
		const hands = withMouse(page);
		const question = page.getByRole("dialog", {
			name: "Leave without saving?",
		});
		await open("pipelines/orders");
		await hands.follow("Edit");
		await breakIt(page);
		for (const leave of [
			() => hands.follow("Sources"),
			() => page.goBack(),
			async () => {
				await page.locator(".visitor summary").click();
				await hands.press("Sign out");
			},
		]) {
			await leave();
			await question.waitFor();
			await hands.press("Stay", question);
			await question.waitFor({ state: "detached" });
			expect(await editor(page).innerText()).toContain("table: [");
		}
		const isHeld = await page.evaluate(() => {
			const leaving = new Event("beforeunload", { cancelable: true });
			return !(globalThis as unknown as EventTarget).dispatchEvent(leaving);
		});
		expect(isHeld).toBe(true);
		expect(complaints).toEqual([]);
	});

	test("what was written when the session ended is there after the next sign-in, also after Back, and is still not saved", async () => {
		const { page, open, local, complaints } = visitor;
		const hands = withMouse(page);
		await open("pipelines/orders");
		await hands.follow("Edit");
		await breakIt(page);
		writes.length = 0;
		await page.context().clearCookies();
		// As when the visitor comes back to the tab.
		await page.evaluate(() => {
			const { document } = globalThis as unknown as { document: EventTarget };
			document.dispatchEvent(new Event("visibilitychange"));
		});
		await page.getByText(/^Your session has ended\./).waitFor();
		expect(await page.content()).not.toContain("table: [");
		await page.goBack();
		await page.waitForURL(/pipelines\/orders\?/);
		await page.goForward();
		await page.waitForURL(/pipelines\/orders\/edit\?/);
		const token = await local.run(
			...(["kubectl", "create", "token", "visitor-editor"] as const),
		);
		await hands.fill("Token", token.trim());
		await hands.press("Sign in");
		await page.getByText(/The form can't show this YAML/).waitFor();
		expect(await editor(page).innerText()).toContain("table: [");
		await hands.press("Save");
		await page.getByText(/^Nothing is saved\./).waitFor();
		expect(writes.filter((url) => url.includes("/v1/"))).toEqual([]);
		expect(complaints).toEqual([]);
	});

	test("a plan isn't called accepted beside YAML that is none", async () => {
		const { page, open, complaints } = visitor;
		const hands = withMouse(page);
		await open("tracking-plans/new");
		await hands.fill("Plan name", "checked");
		const accepted = page.getByText("The API accepts this plan.");
		await accepted.waitFor();
		await hands.write("YAML of this TrackingPlan", "spec: [");
		await page.getByText(/^The form can't show this YAML/).waitFor();
		expect(await accepted.count()).toBe(0);
		writes.length = 0;
		await hands.press("Create");
		await page.getByText(/^Nothing is saved\./).waitFor();
		expect(writes).toEqual([]);
		expect(complaints).toEqual([]);
	});

	test("before a resource that is there is saved, the page shows what changes", async () => {
		const { page, open, local, complaints } = visitor;
		const hands = withMouse(page);
		await open("sources/shop/edit");
		await hands.fill("Display name", "Shown before");
		const changes = page.getByRole("region", { name: "What Save changes" });
		await changes.getByRole("insertion").getByText("Shown before").waitFor();
		expect(await axeFindings(page)).toEqual([]);
		await hands.press("Save");
		await page.getByRole("heading", { level: 1, name: "shop" }).waitFor();
		const { spec } = await local.resource<{ spec: object }>(
			...(["get", "source", "shop"] as const),
		);
		expect(spec).toMatchObject({ displayName: "Shown before" });
		expect(complaints).toEqual([]);
	});
});
