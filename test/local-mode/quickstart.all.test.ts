// In make test: test/promises/you-are-told.laptop.test.ts
import { beforeAll, expect, test, vi } from "vitest";
import { shownTimeMs, uuidTimeMs } from "../support/examples/event-time.ts";
import {
	githubPayloads,
	oddities,
	serialisations,
} from "../support/examples/github-payloads.ts";
import { send } from "../support/senders/http-client.ts";
import {
	applyQuickstart,
	type Quickstart,
} from "../support/senders/quickstart.ts";
import {
	type LocalMode,
	openLocalMode,
} from "../support/servers/local-mode.ts";

interface Row {
	event_id: string;
	timestamp: string;
	body: string;
	date: string;
}

let local: LocalMode;
let quickstart: Quickstart;

beforeAll(async () => {
	local = await openLocalMode("quickstart");
	quickstart = await applyQuickstart(local);
});

const ways = Object.values(serialisations);

/** Request bodies, their types, and the body that the table must have. */
const requests = [
	...githubPayloads().map(({ value }, index) =>
		json(ways[index % ways.length]!(value)),
	),
	...ways.map((write) => json(write(oddities))),
	form("a=1&b=2&a=3", { a: ["1", "3"], b: "2" }),
	form("text=gr%C3%BC%C3%9Fe+%F0%9F%8E%89&empty=&=nameless", {
		text: "grüße 🎉",
		empty: "",
		"": "nameless",
	}),
];

function json(body: string) {
	return { type: "application/json", body, stored: body };
}

function form(body: string, object: object) {
	return {
		type: "application/x-www-form-urlencoded",
		body,
		stored: JSON.stringify(object),
	};
}

test("every webhook becomes one row: its body byte for byte, its id as answered, its time in UTC", async () => {
	expect(requests).toHaveLength(329 + ways.length + 2);
	const expected = new Map<string, string>();
	// A disk that is slow at this moment is a 503; the event may be stored all the same.
	let untold = 0;
	const post = async ({ type, body, stored }: (typeof requests)[number]) => {
		const { status, json } = await send(quickstart.webhookURL, {
			headers: { "content-type": type },
			body,
		});
		if (status === 503) untold++;
		expect([status, json.is_success]).toEqual([200, true]);
		expected.set(json.event_id, stored);
	};
	const startMs = Date.now();
	for (const request of requests)
		await vi.waitFor(() => post(request), { timeout: 120_000 });
	const endMs = Date.now();
	expect(expected.size).toBe(requests.length);

	const loaded = await quickstart.runPipeline();
	const all = await quickstart.query<Row>("select * from $table");
	expect(all).toHaveLength(loaded);
	const rows = all.filter(({ event_id }) => expected.has(event_id));
	expect(rows).toHaveLength(requests.length);
	expect(all.length - rows.length).toBeLessThanOrEqual(untold);
	for (const { event_id, timestamp, body, date } of rows) {
		expect(Buffer.from(body)).toEqual(Buffer.from(expected.get(event_id)!));
		expect(shownTimeMs(timestamp)).toBe(uuidTimeMs(event_id));
		expect(timestamp.slice(0, 10)).toBe(date);
		expect(uuidTimeMs(event_id)).toBeGreaterThanOrEqual(startMs);
		expect(uuidTimeMs(event_id)).toBeLessThanOrEqual(endMs);
	}
	expect(new Set(rows.map(({ event_id }) => event_id))).toEqual(
		new Set(expected.keys()),
	);
});

test("a second Run gives the same table", async () => {
	const sorted = "select * from $table order by event_id";
	const before = await quickstart.query<Row>(sorted);
	await quickstart.runPipeline();
	expect(await quickstart.query<Row>(sorted)).toEqual(before);
});

test("an event answered just before a Run is in the table when the Run ends", async () => {
	const { json } = await vi.waitFor(
		async () => {
			const answer = await send(quickstart.webhookURL, {
				headers: { "content-type": "application/json" },
				body: "[]",
			});
			expect(answer.status).toBe(200);
			return answer;
		},
		{ timeout: 120_000 },
	);
	await quickstart.runPipeline();
	expect(
		await quickstart.query(
			`select body from $table where event_id = '${json.event_id}'`,
		),
	).toEqual([{ body: "[]" }]);
});
