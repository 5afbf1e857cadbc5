// In make test: test/console/every-page.laptop.test.ts
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
	aWhile,
	type ConsoleSession,
	expectInvalid,
	expectPage,
	noBrowser,
	openConsole,
} from "./browser.ts";
import { type Hands, withKeyboard, withMouse } from "./hands.ts";
import {
	applySourceAndDestination,
	createPipeline,
	hostile,
	patch,
	rowsOf,
	send,
} from "./shop.ts";

const editor = ["tidemill-editor", "tidemill-admin", "tidemill-log-reader"];

describe.skipIf(noBrowser)("Pipelines in the console", () => {
	let visitor: ConsoleSession;
	let event: string;

	beforeAll(async () => {
		visitor = await openConsole("console-pipelines", editor);
		await applySourceAndDestination(visitor);
		event = await send(visitor, {
			id: 1,
			total: { amount: 19.9 },
			note: hostile,
		});
	});
	afterAll(() => visitor?.close());

	test.each([
		["by mouse", "orders-by-mouse", withMouse],
		["by keyboard alone", "orders-by-keys", withKeyboard],
	] as const)(
		"somebody makes a Pipeline by the form, runs it, counts its rows, and sees the event as loaded, %s",
		async (_how, name, handsOf) => {
			const { page, open } = visitor;
			const hands = handsOf(page);
			await open("pipelines");
			await hands.follow("New pipeline");
			await hands.fill("Integration name", name);
			await hands.choose("Source", "shop");
			await hands.choose("Destination", "warehouse");
			await hands.tick("/total/amount (Number)");
			await hands.fill("Overwrite period", "2");
			await hands.choose("Schedule type", "Interval");
			await hands.fill("Interval", "12h");
			await expectPage(page, "New pipeline");
			expect(
				await page.getByRole("region", { name: "Preview" }).innerText(),
			).toContain(hostile);
			await hands.press("Create");
			await expectPage(page, name);
			await hands.press("Run now");
			await page.getByRole("heading", { level: 1, name: `${name}-` }).waitFor();
			await page.getByText(/^\d+ rows? (is|are) in the table/).waitFor();
			await page.getByText("load succeeded").waitFor();
			await expectPage(page, new RegExp(`^${name}-`));

			const rows = await rowsOf(visitor, name);
			expect(rows).toHaveLength(1);
			await page.getByText("1 row is in the table for its dates.").waitFor();
			expect(rows).toContainEqual(
				expect.objectContaining({ total_amount: 19.9 }),
			);

			const run = await page.getByRole("heading", { level: 1 }).innerText();
			await hands.follow("Sources");
			await page.getByRole("heading", { level: 1, name: "Sources" }).waitFor();
			await hands.follow("shop");
			const listed = page
				.getByRole("region", { name: "Stored events" })
				.getByRole("row")
				.filter({ hasText: event });
			const load = listed.getByRole("listitem").filter({ hasText: run });
			expect(await load.innerText()).toBe(
				`Loaded ${name}: ${name.replaceAll("-", "_")} ${run}`,
			);
			await hands.press(event);
			const detail = page.getByRole("region", { name: `Event ${event}` });
			await detail.getByRole("link", { name: run }).waitFor();
			await expectPage(page, "shop");
			expect(visitor.complaints).toEqual([]);
		},
	);

	test("an invalid field is named at the field, and gets the focus", async () => {
		const { page, open } = visitor;
		const hands = withMouse(page);
		await open("pipelines/new");
		await fillForm(hands, "wrong");
		await hands.fill("Table name", "no table!");
		await hands.press("Create");
		const field = page.getByLabel("Table name", { exact: true });
		await expectInvalid(field);
		await field.and(page.locator(":focus")).waitFor();
		await expectPage(page, "New pipeline");
		await hands.fill("Table name", "a_table");
		await hands.press("Create");
		await expectPage(page, "wrong");
	});

	test("pasted YAML fills the form, and what is wrong in it is at its line", async () => {
		const { page, open } = visitor;
		const hands = withMouse(page);
		await open("pipelines/new");
		await page.getByText("YAML", { exact: true }).click();
		const manifest = (field: string) =>
			`apiVersion: tidemill.dev/v1alpha1\nkind: Pipeline\nmetadata: { name: pasted }\nspec:\n  ${field}: 4\n  sourceRef: { name: shop }\n  destinationRef: { name: warehouse }\n`;
		await hands.write("YAML of this Pipeline", manifest("overwritePeriod"));
		await page
			.getByText('Line 5: spec has no field "overwritePeriod".')
			.waitFor();
		await expectPage(page, "New pipeline");
		await hands.write("YAML of this Pipeline", manifest("overwritePeriodDays"));
		await vi.waitFor(
			async () =>
				expect(await page.getByLabel("Overwrite period").inputValue()).toBe(
					"4",
				),
			aWhile,
		);
		await hands.press("Create");
		await expectPage(page, "pasted");
	});

	test("an edit elsewhere shows both versions, and both changes are saved", async () => {
		const { page, open, local } = visitor;
		const hands = withMouse(page);
		await createPipeline(visitor, "edited");
		await open("pipelines/edited/edit");
		await hands.fill("Overwrite period", "5");
		await hands.fill("Table name", "mine");
		await patch(visitor, "edited", {
			overwritePeriodDays: 3,
			displayName: hostile,
		});
		await hands.press("Save");
		await page
			.getByRole("heading", { name: "Somebody else changed this" })
			.waitFor();
		await expectPage(page, "Edit edited");
		await page.getByLabel("Take theirs for overwritePeriodDays").check();
		await hands.press("Save both changes");
		await page.getByRole("heading", { level: 1, name: "edited" }).waitFor();
		const { spec } = await local.resource<{ spec: object }>(
			"get",
			"pipeline",
			"edited",
		);
		expect(spec).toMatchObject({
			overwritePeriodDays: 3,
			displayName: hostile,
			table: { name: "mine" },
		});
		expect(visitor.complaints).toEqual([]);
	});

	test("a form with changes asks before it is left", async () => {
		const { page, open } = visitor;
		const hands = withMouse(page);
		await createPipeline(visitor, "unsaved");
		await open("pipelines/unsaved/edit");
		await hands.fill("Overwrite period", "5");
		await hands.follow("Runs");
		const question = page.getByRole("dialog");
		await question.waitFor();
		await page.keyboard.press("Escape");
		expect(await page.getByLabel("Overwrite period").inputValue()).toBe("5");
		await hands.press("Discard changes");
		await hands.follow("Runs");
		await expectPage(page, "Runs");
	});

	test("a Pipeline that Flux applies is read-only, and says why", async () => {
		const { page, open, local } = visitor;
		await createPipeline(visitor, "managed");
		await local.run(
			"kubectl",
			"label",
			"pipeline/managed",
			"kustomize.toolkit.fluxcd.io/name=apps",
		);
		await open("pipelines/managed/edit");
		await page.getByText(/Flux manages this resource/).waitFor();
		expect(await page.getByLabel("Integration name").isDisabled()).toBe(true);
		expect(await page.getByRole("button", { name: "Save" }).count()).toBe(0);
		await expectPage(page, "Edit managed");
	});

	test("an API that is away is said, and a second try works", async () => {
		const { page, open } = visitor;
		const hands = withMouse(page);
		await createPipeline(visitor, "away");
		await open("pipelines/away");
		await page.route("**/v1/pipelines/away/run*", (route) => route.abort());
		await hands.press("Run now");
		await page.getByText("The API doesn't answer.").waitFor();
		await page.unroute("**/v1/pipelines/away/run*");
		await hands.press("Run now");
		await page.getByRole("heading", { level: 1, name: /^away-/ }).waitFor();
	});

	test("deleting asks for the name", async () => {
		const { page, open, local } = visitor;
		const hands = withMouse(page);
		await createPipeline(visitor, "deleted");
		await open("pipelines/deleted");
		await hands.press("Delete");
		const dialog = page.getByRole("dialog");
		const confirm = dialog.getByRole("button", { name: "Delete" });
		expect(await confirm.isDisabled()).toBe(true);
		await dialog.getByRole("textbox").fill("deleted");
		await confirm.click();
		await expectPage(page, "Pipelines");
		await local.run(
			"kubectl",
			"wait",
			"--for=delete",
			"--timeout=120s",
			"pipeline/deleted",
		);
	});

	test("whoever may only look is offered nothing else", async () => {
		await createPipeline(visitor, "looked-at");
		const viewer = await openConsole(
			visitor.local.namespace,
			["tidemill-viewer"],
			visitor.local,
		);
		try {
			const { page, open } = viewer;
			const offered = async (path: string, title: string) => {
				await open(path);
				await expectPage(page, title);
				// Who may look may also sort what they see.
				const main = page.getByRole("main");
				return [
					...(await main.locator("button:not(thead button)").allInnerTexts()),
					...(await main.locator("a.button").allInnerTexts()),
				];
			};
			expect(await offered("pipelines", "Pipelines")).toEqual([]);
			expect(await offered("pipelines/looked-at", "looked-at")).toEqual([]);
			await open("pipelines/looked-at/edit");
			await page.getByText("You may see this, but not change it.").waitFor();
			expect(await page.getByRole("button", { name: "Save" }).count()).toBe(0);
		} finally {
			await viewer.close();
		}
	});
});

async function fillForm(hands: Hands, name: string): Promise<void> {
	await hands.fill("Integration name", name);
	await hands.choose("Source", "shop");
	await hands.choose("Destination", "warehouse");
	await hands.choose("Schedule type", "Manual");
}
