import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
	type ConsoleSession,
	expectInvalid,
	expectPage,
	noBrowser,
	openConsole,
} from "./browser.ts";
import { withKeyboard, withMouse } from "./hands.ts";
import {
	applySourceAndDestination,
	createPipeline,
	hostile,
	rowsOf,
	send,
} from "./shop.ts";

describe.skipIf(noBrowser)("tracking plans in the console", () => {
	let visitor: ConsoleSession;

	beforeAll(async () => {
		visitor = await openConsole("console-plans", ["tidemill-editor"]);
		await applySourceAndDestination(visitor);
		await createPipeline(visitor, "orders");
		await send(visitor, { type: "order.paid", id: 1 });
		await send(visitor, { type: "order.paid", id: 2 });
	});
	afterAll(() => visitor?.close());

	test.each([
		["by mouse", "plan-by-mouse", withMouse],
		["by keyboard alone", "plan-by-keys", withKeyboard],
	] as const)(
		"somebody drafts a plan, tries it and sets it; an event is quarantined and released, %s",
		async (_how, name, handsOf) => {
			const { page, open, local } = visitor;
			const hands = handsOf(page);
			await open("tracking-plans");
			await hands.press("New tracking plan");
			await hands.fill("Plan name", name);
			await hands.choose("Draft from recent events: Source", "shop");
			await hands.press("Draft the plan");
			await page.getByText(/^Drafted from \d+ events of/).waitFor();
			await hands.choose("An event of an unplanned type", "Quarantine");
			await hands.choose("Try it on history: Source", "shop");
			await hands.press("Try the plan");
			await page.getByText(/^The plan would have/).waitFor();
			await page.getByText("The API accepts this plan.").waitFor();
			await expectPage(page, "New tracking plan");
			await hands.press("Create");
			await page.getByRole("heading", { level: 1, name }).waitFor();

			await hands.choose("Use it for the source", "shop");
			await hands.press("Set the plan");
			await page
				.getByRole("button", { name: "Stop using it for shop" })
				.waitFor();
			await local.run(
				"kubectl",
				"wait",
				"--for=condition=PlanCurrent",
				"--timeout=60s",
				"source/shop",
			);
			const event = await send(visitor, { type: `${name} ${hostile}`, id: 3 });
			const isRow = async () =>
				(await rowsOf(visitor, "orders")).some(
					(row) => (row as { event_id: string }).event_id === event,
				);
			await runPipeline(visitor);
			expect(await isRow()).toBe(false);

			await vi.waitFor(
				async () => {
					await hands.press("Show events in quarantine");
					await page
						.getByRole("button", { name: `Release the event ${event}` })
						.waitFor({ timeout: 10_000 });
				},
				{ timeout: 60_000 },
			);
			expect(
				await page
					.getByRole("region", { name: "Events in quarantine" })
					.innerText(),
			).toContain("UnplannedEvent");
			await expectPage(page, name);
			await hands.press(`Release the event ${event}`);
			await page.getByText(/^1 event is released/).waitFor();
			await runPipeline(visitor);
			expect(await isRow()).toBe(true);
			await page.getByRole("rowheader", { name: "UnplannedEvent" }).waitFor();
			await hands.press("Stop using it for shop");
			await page.getByText("No source uses it yet.").waitFor();
			expect(visitor.complaints).toEqual([]);
		},
	);

	test("the editor completes fields by what the CRD says, and Tab leaves it", async () => {
		const { page, open } = visitor;
		await open("tracking-plans/new");
		const editor = page.getByLabel("YAML of this TrackingPlan");
		await editor.click();
		await page.keyboard.press("Control+A");
		await page.keyboard.type("spec:");
		await page.keyboard.press("Enter");
		await page.keyboard.type("  onVio");
		await page.getByRole("option", { name: /onViolation/ }).waitFor();
		await page.getByText(/What happens to an event that violates/).waitFor();
		await page.keyboard.press("Escape");
		await page.keyboard.press("Tab");
		expect(
			await page.getByRole("button", { name: "Create" }).evaluate(isFocused),
		).toBe(true);
	});

	test("what the API refuses of a plan is said while somebody writes it", async () => {
		const { page, open } = visitor;
		const hands = withMouse(page);
		await open("tracking-plans/new");
		await hands.fill("Plan name", "refused");
		await hands.fill("Pointer into the body", "no pointer");
		await page
			.getByText(/^eventType\.bodyPointer: /)
			.first()
			.waitFor();
		await hands.press("Create");
		await expectInvalid(page.getByLabel("Pointer into the body"));
	});
});

function isFocused(element: {
	ownerDocument: { activeElement: unknown };
}): boolean {
	return element.ownerDocument.activeElement === element;
}

async function runPipeline({ local }: ConsoleSession): Promise<void> {
	await local.run("tidemill", "pipelines", "run", "orders", "--wait");
}
