// In make test: test/console/every-page.laptop.test.ts
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
	apiURL,
	axeFindings,
	type ConsoleSession,
	noBrowser,
	openConsole,
} from "./browser.ts";
import { withMouse } from "./hands.ts";
import { applySourceAndDestination, webhookURL } from "./shop.ts";

/* What is too much for a page: it shows a part, says so, and still answers. */

/** The largest body that a Source accepts. */
const largestBytes = 4 * 1024 * 1024;
/** On a busy machine. */
const aWhile = { timeout: 180_000 };

describe.skipIf(noBrowser)("what is large in the console", () => {
	let visitor: ConsoleSession;
	let url: string;

	beforeAll(async () => {
		visitor = await openConsole("console-large", [
			"tidemill-editor",
			"tidemill-admin",
		]);
		await applySourceAndDestination(visitor);
		await visitor.local.run(
			...(["kubectl", "patch", "source", "shop", "--type=merge"] as const),
			...[
				"-p",
				JSON.stringify({ spec: { webhook: { maxBodyBytes: largestBytes } } }),
			],
		);
		url = await webhookURL(visitor);
		// Receive learns the new bound within a second or two.
		const large = JSON.stringify({ value: "a".repeat(2_000_000) });
		await vi.waitFor(
			async () => expect(await statusOf(url, large)).toBe(200),
			aWhile,
		);
	});
	afterAll(() => visitor?.close());

	test.each([
		["of many lines", Array.from({ length: 58_000 }, rowOf)],
		["of one line", "a".repeat(largestBytes - 100)],
	])(
		"a body of 4 MB %s is shown in part, and whole when somebody asks",
		async (_what, value) => {
			const { page, open, complaints } = visitor;
			const hands = withMouse(page);
			const sent = JSON.stringify({ value });
			expect(sent.length).toBeGreaterThan(0.9 * largestBytes);
			const id = await eventOf(url, sent);
			await open(`sources/shop?event=${id}`);
			const body = page.getByRole("region", { name: "Body" });
			await body.waitFor(aWhile);
			expect(((await body.textContent()) ?? "").length).toBe(100_000);
			await page.getByText("These are the first 100,000 characters.").waitFor();
			expect(await axeFindings(page)).toEqual([]);

			await hands.press("Show all of it");
			const whole = JSON.stringify({ value }, undefined, 2);
			await expect
				.poll(async () => (await body.textContent()) === whole, aWhile)
				.toBe(true);
			expect(await body.locator("*").count()).toBeLessThan(1_000);
			await hands.press("Close");
			await body.waitFor({ state: "detached" });
			expect(complaints).toEqual([]);
		},
	);

	test("a tail of a flood shows a sample, says how much it leaves out, and can be paused", async () => {
		const { page, open, complaints } = visitor;
		const hands = withMouse(page);
		await open("sources/shop");
		await hands.press("Follow new events");
		const live = page.getByRole("region", { name: "Live" });
		await live.getByText("New events show here as they come.").waitFor();
		await eventOf(url, '{"note":"before the flood"}');
		const before = live.getByText("before the flood");
		await before.waitFor();
		const rows = live.getByRole("listitem");
		const sample = live.getByText(
			/This is a sample: [\d,]+ events came too fast to be shown\./,
		);
		const flooding = new AbortController();
		const flood = floodOf(url, flooding.signal);
		try {
			await sample.waitFor(aWhile);
			// More rows than a person looks through push out the oldest.
			await before.waitFor({ ...aWhile, state: "detached" });
			expect(await rows.count()).toBeLessThanOrEqual(200);
			await hands.press("Pause");
			const newest = await rows.first().innerText();
			await live.getByText(/ events came meanwhile\./).waitFor(aWhile);
			expect(await rows.first().innerText()).toBe(newest);
		} finally {
			flooding.abort();
			await flood;
		}
		await hands.press("Go on");
		expect(await rows.count()).toBeLessThanOrEqual(200);
		expect(complaints).toEqual([]);
	});

	test("the sixth tail of an account says that one must be closed, and goes on by itself when one is", async () => {
		const { page, open, local, complaints } = visitor;
		const token = await local.run(
			...(["kubectl", "create", "token", "visitor-editor-admin"] as const),
		);
		const tail = `${await apiURL(local)}/sources/shop/events/tail`;
		const headers = {
			authorization: `Bearer ${token.trim()}`,
			"tidemill-account": local.namespace,
		};
		const closing = new AbortController();
		const { signal } = closing;
		await open("sources");
		const others = await Promise.all(
			Array.from({ length: 5 }, () => fetch(tail, { headers, signal })),
		);
		try {
			expect(others.map(({ status }) => status)).toEqual([
				200, 200, 200, 200, 200,
			]);
			await open("sources/shop");
			await withMouse(page).press("Follow new events");
			const live = page.getByRole("region", { name: "Live" });
			await live
				.getByRole("alert")
				.getByText("The account has 5 open tails, and may have no more.")
				.waitFor(aWhile);
			await live.getByText(/Close one/).waitFor();
			expect(await axeFindings(page)).toEqual([]);
			closing.abort();
			await live
				.getByText("New events show here as they come.")
				.waitFor(aWhile);
			expect(await live.getByRole("alert").count()).toBe(0);
			expect(complaints).toEqual([]);
		} finally {
			closing.abort();
		}
	});
});

function rowOf(_: unknown, n: number) {
	return { n, text: `\\"Käse\\" {[${n}]} from Gouda, 40 characters` };
}

function post(url: string, body: string): Promise<Response> {
	const headers = { "content-type": "application/json" };
	return fetch(url, { method: "POST", headers, body });
}

async function statusOf(url: string, body: string): Promise<number> {
	const answer = await post(url, body);
	await answer.text();
	return answer.status;
}

async function eventOf(url: string, body: string): Promise<string> {
	const answer = await post(url, body);
	expect(answer.status).toBe(200);
	const { event_id } = (await answer.json()) as { event_id: string };
	return event_id;
}

/** Sends as much as this process can, until the signal fires. */
async function floodOf(url: string, signal: AbortSignal): Promise<void> {
	const send = async () => {
		while (!signal.aborted) await eventOf(url, '{"note":"a drop"}');
	};
	await Promise.all(Array.from({ length: 16 }, send));
}
