// In make test: test/console/every-page.laptop.test.ts
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { untilKnown } from "../support/senders/http-client.ts";
import {
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
	rowsOf,
	send,
	webhookURL,
} from "./shop.ts";

/** Each with the name of its plan, Source and Pipeline. */
const ways = [
	["by mouse", "by-mouse", withMouse],
	["by keyboard alone", "by-keys", withKeyboard],
] as const;

describe.skipIf(noBrowser)("tracking plans in the console", () => {
	let visitor: ConsoleSession;

	beforeAll(async () => {
		visitor = await openConsole("console-plans", ["tidemill-editor"]);
		await applySourceAndDestination(visitor);
		for (const [, name] of ways) await createShop(visitor, name);
	});
	afterAll(() => visitor?.close());

	test.each(ways)(
		"somebody drafts a plan, tries it and sets it; an event is quarantined and released, %s",
		async (_how, name, handsOf) => {
			const { page, open, local } = visitor;
			const hands = handsOf(page);
			await open("tracking-plans");
			await hands.follow("New tracking plan");
			await hands.fill("Plan name", name);
			await hands.choose("Draft from recent events: Source", name);
			await hands.press("Draft the plan");
			await page.getByText(/^Drafted from \d+ events of/).waitFor();
			await hands.choose("An event of an unplanned type", "Quarantine");
			await hands.choose("Try it on history: Source", name);
			await hands.press("Try the plan");
			await page.getByText(/^The plan would have/).waitFor();
			await page.getByText("The API accepts this plan.").waitFor();
			await expectPage(page, "New tracking plan");
			await hands.press("Create");
			await page.getByRole("heading", { level: 1, name }).waitFor();

			await hands.choose("Use it for the source", name);
			await hands.press("Set the plan");
			await page
				.getByRole("button", { name: `Stop using it for ${name}` })
				.waitFor();
			await local.run(
				"kubectl",
				"wait",
				"--for=condition=PlanCurrent",
				"--timeout=60s",
				`source/${name}`,
			);
			const event = await sendTestEvent(page, hands, name);
			const isRow = async () =>
				(await rowsOf(visitor, name)).some(
					(row) => (row as { event_id: string }).event_id === event,
				);
			await runPipeline(page, hands, name, 2);
			expect(await isRow()).toBe(false);

			await openByLinks(page, hands, "Tracking plans", name);
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
			await runPipeline(page, hands, name, 3);
			expect(await isRow()).toBe(true);
			await openByLinks(page, hands, "Tracking plans", name);
			await page.getByRole("rowheader", { name: "UnplannedEvent" }).waitFor();
			await hands.press(`Stop using it for ${name}`);
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

/** A Source with two events, and a Pipeline, both of that name. */
async function createShop(
	visitor: ConsoleSession,
	name: string,
): Promise<void> {
	await visitor.local.run("tidemill", "sources", "create", name, "--wait");
	await untilKnown(await webhookURL(visitor, name));
	await createPipeline(visitor, name, name);
	for (const id of [1, 2])
		await send(visitor, { type: "order.paid", id, note: hostile }, name);
}

/** Goes from page to page, as a visitor does. */
async function openByLinks(
	page: Page,
	hands: Hands,
	list: string,
	name: string,
): Promise<void> {
	await hands.follow(list);
	await page.getByRole("heading", { level: 1, name: list }).waitFor();
	await hands.follow(name);
	await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
}

/** Returns the event's ID. */
async function sendTestEvent(
	page: Page,
	hands: Hands,
	source: string,
): Promise<string> {
	await openByLinks(page, hands, "Sources", source);
	await hands.press("Send test event");
	const said = await page
		.getByText(/^The event .* is accepted\.$/)
		.textContent();
	const event = /[0-9a-f-]{36}/.exec(said!)![0];
	const stored = page.getByRole("region", { name: "Stored events" });
	const row = stored.getByRole("row").filter({ hasText: event });
	await vi.waitFor(
		async () => {
			await hands.press("Show the newest", stored);
			await row.getByText("Quarantined").waitFor({ timeout: 10_000 });
		},
		{ timeout: 60_000 },
	);
	return event;
}

async function runPipeline(
	page: Page,
	hands: Hands,
	name: string,
	rows: number,
): Promise<void> {
	await openByLinks(page, hands, "Pipelines", name);
	await hands.press("Run now");
	await page.getByText(`${rows} rows are in the table`).waitFor();
}
