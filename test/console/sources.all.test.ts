// In make test: test/console/every-page.laptop.test.ts
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
	afterTwoFrames,
	axeFindings,
	type ConsoleSession,
	expectInvalid,
	expectPage,
	noBrowser,
	openConsole,
} from "./browser.ts";
import { withKeyboard, withMouse } from "./hands.ts";
import { hostile, webhookURL } from "./shop.ts";

const editor = ["tidemill-editor", "tidemill-admin", "tidemill-log-reader"];

describe.skipIf(noBrowser)("Sources in the console", () => {
	let visitor: ConsoleSession;

	beforeAll(async () => {
		visitor = await openConsole("console-sources", editor);
	});
	afterAll(() => visitor?.close());

	test.each([
		["by mouse", "stripe-by-mouse", withMouse],
		["by keyboard alone", "orders-by-keys", withKeyboard],
	] as const)(
		"somebody makes a Source, sends it a test event, sees it come and reads it, %s",
		async (_how, name, handsOf) => {
			const { page, open } = visitor;
			const hands = handsOf(page);
			await open("sources");
			await hands.follow("New source");
			await hands.fill("Source name", name);
			await expectPage(page, "New source");
			await hands.press("Create");
			await expectPage(page, name);
			await page.getByText("Waiting for the first event…").waitFor();
			const url = page.getByLabel("Webhook URL", { exact: true });
			await expect
				.poll(() => url.inputValue(), { timeout: 60_000 })
				.toMatch(/\/hooks\//);
			await hands.press("Follow new events");
			await page.getByText("New events show here as they come.").waitFor();
			await hands.press("Send test event");
			await page.getByText("The first event has arrived.").waitFor();
			const tail = page.getByRole("region", { name: "Live" });
			await tail.getByText("tidemill.test").waitFor();
			await hands.press("Show the newest", stored(visitor));
			await hands.press(/^[0-9a-f]{8}-/, stored(visitor));
			const detail = page.getByRole("region", { name: /^Event / });
			await detail.getByText('"type": "tidemill.test"').waitFor();
			await expectPage(page, name);
			expect(visitor.complaints).toEqual([]);
		},
	);

	test("a custom token is kept in a Secret, and a short one is named at its field", async () => {
		const { page, open, local } = visitor;
		const hands = withMouse(page);
		await open("sources/new");
		await hands.fill("Source name", "with-token");
		await hands.choose("Authorization type", "CustomToken");
		await hands.fill("Custom token", "short");
		await hands.press("Create");
		const field = page.getByLabel("Custom token", { exact: true });
		await expectInvalid(field);
		await hands.press("Generate a token");
		const token = await field.inputValue();
		expect(token.length).toBeGreaterThan(31);
		await hands.press("Create");
		await expectPage(page, "with-token");
		expect(await page.content()).not.toContain(token);
		const source = await local.resource<{
			spec: { webhook: { authorization: { type: string } } };
		}>("get", "source", "with-token");
		expect(source.spec.webhook.authorization.type).toBe("CustomToken");
		expect(JSON.stringify(source)).not.toContain(token);
	});

	test("an event is sent again as it was written, with all its digits", async () => {
		const { page, open } = visitor;
		const hands = withMouse(page);
		const written = '{"2": 9007199254740993, "1":1.10}';
		const url = await webhookURL(visitor, "orders-by-keys");
		const first = await post(url, written);
		await open(`sources/orders-by-keys?event=${first}`);
		await hands.press("Send again");
		const sent = await page
			.getByText(/^The event .* is accepted\. It has the body and/)
			.textContent();
		const again = /[0-9a-f-]{36}/.exec(sent!)![0];
		expect(again).not.toBe(first);
		const body = page.getByRole("region", { name: "Body" });
		await vi.waitFor(
			async () => {
				await open(`sources/orders-by-keys?event=${again}`);
				await body.waitFor({ timeout: 15_000 });
			},
			{ timeout: 180_000 },
		);
		expect(await body.textContent()).toBe(
			'{\n  "2": 9007199254740993,\n  "1": 1.10\n}',
		);
		const headers = page.getByRole("region", { name: "Headers" });
		expect(await headers.textContent()).toBe(`tidemill-again-of: ${first}`);
	});

	test("events are found by a text in their body, and their date in the calendar", async () => {
		const { page, open } = visitor;
		const hands = withMouse(page);
		const url = await webhookURL(visitor, "orders-by-keys");
		const wanted = await post(url, '{"note":"Käse aus Gouda"}');
		const other = await post(url, '{"note":"Bread"}');
		await open("sources/orders-by-keys");
		const events = stored(visitor);
		await vi.waitFor(
			async () => {
				await hands.press("Show the newest", events);
				await events.getByText(other).waitFor({ timeout: 2_000 });
				await events.getByText(wanted).waitFor({ timeout: 2_000 });
			},
			{ timeout: 60_000 },
		);
		await events.getByLabel("Text in the body").fill("käse AUS");
		await events.getByText(/^1 of the \d+ events shown here$/).waitFor();
		expect(await events.getByText(other).count()).toBe(0);
		await events.getByText(wanted).waitFor();
		await events.getByLabel("Text in the body").fill("");
		await events.getByLabel("Find in all stored events").fill("/note=Bread");
		await events.getByText(/^\d+ found in the last 24 hours\.$/).waitFor();
		await events.getByText(other).waitFor();
		expect(await events.getByText(wanted).count()).toBe(0);
		await events.getByLabel("Find in all stored events").fill("");
		const days = page.getByRole("region", { name: "The last 31 days" });
		// Archive counts what it stores, every minute at the latest.
		await days.getByText(/: \d+ received, \d+ stored/).waitFor({
			state: "attached",
			timeout: 120_000,
		});
		await days.getByRole("button").click();
		const today = new Date().toISOString().slice(0, 10);
		expect(await events.getByLabel("From").inputValue()).toBe(today);
		await expectPage(page, "orders-by-keys");
		await open("sources");
		await page.getByRole("columnheader", { name: "Events a minute" }).waitFor();
		await expectPage(page, "Sources");
		expect(visitor.complaints).toEqual([]);
	});

	test("an older page that was asked for before the filter changed is dropped, and isn't mixed into the newer list", async () => {
		const { page, open, complaints } = visitor;
		const hands = withMouse(page);
		const url = await webhookURL(visitor, "orders-by-keys");
		for (let n = 0; n < 30; n++) await post(url, `{"n":${n}}`);
		const release = Promise.withResolvers<void>();
		const older = /\/sources\/orders-by-keys\/events\?.*cursor=/;
		await page.route(older, async (route) => {
			await release.promise;
			await route.continue();
		});
		await open("sources/orders-by-keys");
		const events = stored(visitor);
		const asked = page.waitForRequest(older);
		await hands.press("Show older events", events);
		await asked;
		const dropped = page.waitForEvent("requestfailed", (request) =>
			older.test(request.url()),
		);
		await events.getByLabel("Type").fill("unheard-of");
		await events.getByText("No events", { exact: true }).waitFor();
		await dropped;
		release.resolve();
		await page.evaluate(afterTwoFrames);
		expect(await events.getByRole("row").count()).toBe(0);
		await events.getByText("No events", { exact: true }).waitFor();
		await page.unrouteAll({ behavior: "ignoreErrors" });
		expect(complaints).toEqual([]);
	});

	test("a Source is edited, keeps the token that nobody sees, and gets another URL from who types its name", async () => {
		const { page, open, local } = visitor;
		const hands = withMouse(page);
		const seen = () =>
			local.resource<{
				spec: {
					displayName?: string;
					webhook: { authorization: { customToken?: unknown } };
				};
				status: { webhookURL: string };
			}>("get", "source", "with-token");
		const before = await seen();
		await open("sources/with-token");
		await hands.follow("Edit");
		await hands.fill("Display name", "The shop");
		await hands.fill("Quiet after", "1m");
		await hands.fill("Secrets with webhooks", "pager\nchat");
		await hands.press("Save");
		await expectInvalid(page.getByLabel("Quiet after", { exact: true }));
		await expectPage(page, "Edit with-token");
		await hands.fill("Quiet after", "6h");
		await hands.press("Save");
		await expectPage(page, "with-token");
		const edited = await seen();
		expect(edited.spec).toMatchObject({
			displayName: "The shop",
			notify: {
				quietAfter: "6h",
				secretRefs: [{ name: "pager" }, { name: "chat" }],
			},
		});
		expect(edited.spec.webhook).toEqual(before.spec.webhook);
		await open("sources/with-token/edit");
		await hands.press("Generate a token");
		await hands.press("Save");
		await expectPage(page, "with-token");
		expect((await seen()).spec.webhook).not.toEqual(before.spec.webhook);
		await hands.press("New URL");
		await page.getByLabel("Type with-token to confirm").fill("with-token");
		expect(await axeFindings(page)).toEqual([]);
		await hands.press("New URL", page.getByRole("dialog"));
		await vi.waitFor(
			async () => {
				const { webhookURL } = (await seen()).status;
				expect(webhookURL).not.toBe(before.status.webhookURL);
				const shown = page.getByLabel("Webhook URL", { exact: true });
				expect(await shown.inputValue({ timeout: 2_000 })).toBe(webhookURL);
			},
			{ timeout: 60_000 },
		);
		expect(visitor.complaints).toEqual([]);
	});

	test("a refused request shows why, and a stranger's text stays a text", async () => {
		const { page, open } = visitor;
		const url = await webhookURL(visitor, "orders-by-keys");
		const refused = await fetch(url, {
			method: "POST",
			headers: { "content-type": "application/json", "user-agent": hostile },
			body: "{",
		});
		expect(refused.status).toBe(400);
		await post(url, JSON.stringify({ note: hostile }));
		await open("sources/orders-by-keys");
		const refusals = page.getByRole("region", { name: "Refused requests" });
		await refusals.getByText(hostile).first().waitFor();
		expect(visitor.complaints).toEqual([]);
	});

	test("who may only look is offered nothing else", async () => {
		const viewer = await openConsole(
			"console-sources",
			["tidemill-viewer"],
			visitor.local,
		);
		try {
			const { page, open } = viewer;
			await expectPage(page, "Sources");
			expect(await page.getByRole("link", { name: "New source" }).count()).toBe(
				0,
			);
			await open("sources/orders-by-keys");
			await expectPage(page, "orders-by-keys");
			for (const name of ["Send test event", "Suspend", "Delete"])
				expect(
					await page.getByRole("button", { name, exact: true }).count(),
				).toBe(0);
		} finally {
			await viewer.close();
		}
	});

	test("a Source is deleted by who types its name", async () => {
		const { page, open, local } = visitor;
		const hands = withMouse(page);
		await open("sources/with-token");
		await hands.press("Delete");
		await page.getByLabel("Type with-token to confirm").fill("with-token");
		await hands.press("Delete", page.getByRole("dialog"));
		await expectPage(page, "Sources");
		await vi.waitFor(
			async () => {
				const names = await local.run(
					"kubectl",
					"get",
					"sources",
					"-o",
					"name",
				);
				expect(names).not.toContain("with-token");
			},
			{ timeout: 60_000 },
		);
	});
});

/** Sends a body as it is, and returns the event's ID. */
async function post(url: string, body: string): Promise<string> {
	const answer = await fetch(url, {
		method: "POST",
		headers: { "content-type": "application/json" },
		body,
	});
	const { event_id } = (await answer.json()) as { event_id: string };
	return event_id;
}

function stored({ page }: ConsoleSession) {
	return page.getByRole("region", { name: "Stored events" });
}
