import { expect, test, vi } from "vitest";
import type {
	ContentMatch,
	EventState,
	StoredEvent,
} from "../../../packages/contracts/stored-event.ts";
import {
	eventAt,
	idOf,
	StoredEvents,
} from "../../../test/support/fixtures/data-plane/stored-events.ts";
import type { FrameEvent } from "../../wire/frame-event.ts";
import { listEvents } from "./listing.ts";
import { findEvent } from "./lookup.ts";

const noonMs = Date.parse("2026-03-01T12:00:00.000Z");
const account = "shop";
const { sourceKey } = StoredEvents;
const dayMs = 24 * 3_600_000;
const isOfReleases = (key: string) => /(^|\/)releases\//.test(key);

async function pages(
	events: StoredEvents,
	limit: number,
	between: () => Promise<unknown> = async () => undefined,
): Promise<StoredEvent[]> {
	const all: StoredEvent[] = [];
	for (let cursor: string | undefined; ; ) {
		const asked = { limit, ...(cursor && { cursor }) };
		const page = await listEvents(events, account, sourceKey, asked);
		if (!page.ok) throw new Error(page.error.message);
		expect(page.events.length).toBeLessThanOrEqual(limit);
		all.push(...page.events);
		cursor = page.cursor;
		if (cursor === undefined) return all;
		await between();
	}
}

/** Frames whose times are woven into each other, as those of several receivers are. */
function frame(atMs: number) {
	return [0, 3, 6].map((ms) => eventAt(noonMs + atMs + ms));
}

test.each([1, 2, 5, 100])(
	"each event comes once on pages of %i, the buffered ones in the order of time and before the others",
	async (limit) => {
		const events = new StoredEvents();
		const archived = [frame(0), frame(2), frame(4)];
		for (const each of archived) {
			events.publish(each);
			await events.archive();
		}
		const buffered = [frame(20), frame(21)];
		for (const each of buffered) events.publish(each);
		const seen = (await pages(events, limit)).map(({ eventID }) => eventID);
		expect(seen.toSorted()).toEqual(
			[...archived, ...buffered].flat().map(idOf).toSorted(),
		);
		expect(seen.slice(0, 6)).toEqual(
			buffered.flat().map(idOf).toSorted().reverse(),
		);
	},
);

test("each event comes once if those of the buffer are archived between two pages, and new ones come", async () => {
	const events = new StoredEvents();
	const all = [frame(0), frame(10), frame(11), frame(12)];
	events.publish(all[0]!);
	await events.archive();
	for (const each of all.slice(1)) events.publish(each);
	let at = 100;
	const seen = await pages(events, 2, async () => {
		await events.archive();
		at += 100;
		events.publish([eventAt(noonMs + at)]);
	});
	const known = new Set(all.flat().map(idOf));
	const ids = seen.map(({ eventID }) => eventID);
	expect(ids.filter((id) => known.has(id)).toSorted()).toEqual(
		[...known].toSorted(),
	);
	expect(new Set(ids).size).toBe(ids.length);
});

test("a list has the source's events of the chosen times, types and states alone", async () => {
	const events = new StoredEvents();
	const violations = (type: string) =>
		JSON.stringify({ plan: "p", version: "1", type });
	const paid = eventAt(noonMs, { violations: violations("paid") });
	const kept = eventAt(noonMs + 10, {
		violations: violations("sent"),
		quarantined: true,
	});
	const others = [
		eventAt(noonMs + 5, { account: "other" }),
		eventAt(noonMs + 5, { sourceKey: "00".repeat(16) }),
	];
	events.publish([paid, kept, ...others]);
	const ids = async (asked: object) => {
		const page = await listEvents(events, account, sourceKey, {
			limit: 10,
			...asked,
		});
		return page.ok && page.events.map(({ eventID }) => eventID);
	};
	for (const _ of ["buffered", "archived"]) {
		expect(await ids({})).toEqual([kept, paid].map(idOf));
		expect(await ids({ types: ["paid"] })).toEqual([idOf(paid)]);
		expect(await ids({ state: "quarantined" })).toEqual([idOf(kept)]);
		expect(await ids({ state: "accepted" })).toEqual([idOf(paid)]);
		expect(await ids({ from: "2026-03-01T12:00:00.001Z" })).toEqual([
			idOf(kept),
		]);
		expect(await ids({ to: "2026-03-01T12:00:00.000Z" })).toEqual([idOf(paid)]);
		await events.archive();
	}
});

test("a glimpse is the beginning of a body in whole characters, for who asks", async () => {
	const events = new StoredEvents();
	const long = `"${"ä".repeat(150)}"`;
	for (const [ms, body] of ['{"a":1}', long].entries())
		events.publish([eventAt(noonMs + ms, { body: Buffer.from(body) })]);
	const glimpses = async (asked: object) => {
		const page = await listEvents(events, account, sourceKey, {
			limit: 10,
			...asked,
		});
		return page.ok && page.events.map(({ glimpse }) => glimpse);
	};
	for (const _ of ["buffered", "archived"]) {
		expect(await glimpses({})).toEqual([undefined, undefined]);
		expect(await glimpses({ glimpse: true })).toEqual([
			long.slice(0, 100),
			'{"a":1}',
		]);
		await events.archive();
	}
});

test.each([1, 2, 100])(
	"a search on pages of %i finds what has exactly the value, wherever it is, each once",
	async (limit) => {
		const events = new StoredEvents();
		const of = (ms: number, body: string, more: Partial<FrameEvent> = {}) =>
			eventAt(noonMs + ms, { body: Buffer.from(body), ...more });
		const hits = [
			of(0, '{"order":{"id":"1001"}}'),
			of(1, '{"order":{"id":1.001e3}}', { quarantined: true }),
			of(2, '{"order":{"id":["7","\\u0031001"]},"note":"x"}'),
		];
		const others = [
			of(3, '{"order":{"id":"21001"},"id":"1001"}'),
			of(4, '{"order":{"id":10010}}'),
			of(5, '["1001"]'),
			of(6, '{"order":{"id":"1001"}}', { account: "other" }),
			of(7, '"1001"', { headers: '{"x-id":"1001","?shop":"a"}' }),
		];
		for (const each of [...hits, ...others]) events.publish([each]);
		const search = async (match: ContentMatch) => {
			const ids: string[] = [];
			for (let cursor: string | undefined; ; ) {
				const asked = { limit, match, ...(cursor && { cursor }) };
				const page = await listEvents(events, account, sourceKey, asked);
				if (!page.ok) throw new Error(page.error.message);
				ids.push(...page.events.map(({ eventID }) => eventID));
				cursor = page.cursor;
				expect(page.reached === undefined).toBe(cursor === undefined);
				if (cursor === undefined) return ids.toSorted();
			}
		};
		for (const _ of ["buffered", "archived"]) {
			const bodyPointer = "/order/id";
			expect(await search({ bodyPointer, value: "1001" })).toEqual(
				hits.map(idOf).toSorted(),
			);
			expect(await search({ bodyPointer: "", value: "1001" })).toEqual(
				[others[2]!, others[4]!].map(idOf).toSorted(),
			);
			const ofField = [idOf(others[4]!)];
			expect(await search({ field: "x-id", value: "1001" })).toEqual(ofField);
			expect(await search({ field: "?shop", value: "a" })).toEqual(ofField);
			expect(await search({ field: "x-id", value: "100" })).toEqual([]);
			await events.archive();
		}
	},
);

test.each([1, 2, 100])(
	"imported events are listed on pages of %i, each once, the newest date first",
	async (limit) => {
		const events = new StoredEvents();
		const before = frame(-dayMs);
		const [first, second, received, buffered] = [1, 9, 5, 60_000].map(frame);
		await events.addImported(before);
		await events.addImported(first!);
		await events.addImported(second!);
		const others = [frame(0), frame(1)].flat();
		await events.addImported(
			others.map((each) => ({ ...each, account: "other" })),
		);
		events.publish(received!);
		await events.archive();
		events.publish(buffered!);
		const all = await pages(events, limit);
		expect(all.map(({ eventID }) => eventID).toSorted()).toEqual(
			[before, first!, second!, received!, buffered!]
				.flat()
				.map(idOf)
				.toSorted(),
		);
		const states = all.map(({ state }) => state);
		expect(states.slice(0, 3)).toEqual(Array(3).fill("accepted"));
		expect(states.filter((state) => state === "imported")).toHaveLength(9);
		expect(all.slice(-3).map(({ eventID }) => eventID)).toEqual(
			before.map(idOf).toReversed(),
		);
	},
);

test("a list says of each event when it was stored and released, as the event by itself does, if it is asked to", async () => {
	const events = new StoredEvents();
	const kept = [0, 1].map((ms) => eventAt(noonMs + ms, { quarantined: true }));
	events.publish([...frame(0), ...kept], noonMs + 20);
	events.publish(frame(30), noonMs + 40);
	await events.archive();
	await events.addReleased([kept[0]!]);
	await events.addImported(frame(-dayMs));
	events.publish(frame(60), noonMs + 100);
	const list = async (asked: object) => {
		const page = await listEvents(events, account, sourceKey, {
			...{ limit: 100, ...asked },
		});
		return page.ok ? page.events : [];
	};
	const listed = await list({ stored: true });
	expect(listed).toHaveLength(14);
	const some = { account, sourceKeys: [sourceKey], whole: false, keyMs: 0 };
	for (const { eventID, state, storedTime, releasedTime } of listed) {
		const { answer } = await findEvent(events, { ...some, id: eventID });
		const found = answer.ok ? answer.event : undefined;
		expect([eventID, state, storedTime, releasedTime]).toEqual([
			...[eventID, found?.state, found?.storedTime, found?.released?.time],
		]);
	}
	expect(listed.filter(({ releasedTime }) => releasedTime)).toHaveLength(1);
	const plain = await list({});
	expect(plain.filter((event) => "storedTime" in event)).toEqual([]);
});

test("a page of recent events reads nothing of what was imported", async () => {
	const events = new StoredEvents();
	for (const day of [1, 2, 3]) await events.addImported(frame(-day * dayMs));
	events.publish(frame(0));
	const asked = { limit: 1 };
	const page = await listEvents(events, account, sourceKey, asked);
	const { cursor } = page as { cursor: string };
	await events.archive();
	events.reads.length = 0;
	events.lists.length = 0;
	expect(
		await listEvents(events, account, sourceKey, { ...asked, cursor }),
	).toMatchObject({ events: { length: 1 } });
	expect([...events.reads, ...events.lists].filter(isOfReleases)).toEqual([]);
});

test("records of releases and imports are read in the account's turn, eight at a time", async () => {
	const events = new StoredEvents();
	const kept = eventAt(noonMs, { quarantined: true });
	events.publish([kept]);
	await events.archive();
	for (let at = 1; at <= 20; at++) await events.addImported(frame(at));
	await events.addReleased([kept]);
	const some = { account, sourceKeys: [sourceKey], whole: false, keyMs: 0 };
	for (const [ask, reads] of [
		[() => listEvents(events, account, sourceKey, { limit: 200 }), 2 * 21],
		[() => findEvent(events, { ...some, id: idOf(kept) }), 21],
		[() => findEvent(events, { ...some, id: idOf(eventAt(noonMs)) }), 21],
	] as const) {
		const inTurns: number[] = [];
		const inTurn = events.inTurn.bind(events);
		const spy = vi.spyOn(events, "inTurn").mockImplementation((account, work) =>
			inTurn(account, async () => {
				const before = events.reads.filter(isOfReleases).length;
				const done = await work();
				inTurns.push(events.reads.filter(isOfReleases).length - before);
				return done;
			}),
		);
		events.reads.length = 0;
		await ask();
		spy.mockRestore();
		expect(events.reads.filter(isOfReleases)).toHaveLength(reads);
		expect(inTurns.reduce((sum, each) => sum + each, 0)).toBe(reads);
		expect(Math.max(...inTurns)).toBe(8);
	}
});

test("what a sweep deletes while it is listed is left out", async () => {
	const events = new StoredEvents();
	const [swept, left] = [frame(0), frame(1)];
	await events.addImported(swept);
	await events.addImported(left);
	events.sweepListed("2026-03-01", 1);
	const page = await listEvents(events, account, sourceKey, { limit: 10 });
	expect(page.ok && page.events.map(({ eventID }) => eventID)).toEqual(
		left.map(idOf).toReversed(),
	);
});

test("a list by state has the imported events, or leaves them out, also of a source that nobody has sent to", async () => {
	const events = new StoredEvents();
	const imported = frame(0);
	await events.addImported(imported);
	const listed = async (state?: EventState) => {
		const asked = { limit: 10, ...(state && { state }) };
		const page = await listEvents(events, account, sourceKey, asked);
		return page.ok && page.events.map(({ eventID }) => eventID);
	};
	const ids = imported.map(idOf).toReversed();
	expect(await listed()).toEqual(ids);
	expect(await listed("imported")).toEqual(ids);
	for (const state of ["accepted", "quarantined", "released"] as const)
		expect(await listed(state)).toEqual([]);
	events.publish([eventAt(noonMs)]);
	expect(await listed("imported")).toEqual(ids);
});

test("a cursor of an object that is gone has expired, and any other text is none", async () => {
	const events = new StoredEvents();
	events.publish(frame(0));
	await events.archive();
	const page = await listEvents(events, account, sourceKey, { limit: 1 });
	const { cursor } = page as { cursor: string };
	const read = JSON.parse(Buffer.from(cursor, "base64url").toString());
	const changed = { ...read, object: { ...read.object, name: "compacted" } };
	for (const [text, code] of [
		[JSON.stringify(changed), "CursorExpired"],
		[JSON.stringify({ ...read, after: {} }), "CursorInvalid"],
		["{", "CursorInvalid"],
	] as const)
		await expect(
			listEvents(events, account, sourceKey, {
				limit: 1,
				cursor: Buffer.from(text).toString("base64url"),
			}),
		).rejects.toMatchObject({ code });
});

test("no frame is read before the account's turn, nor for an account of which too much waits", async () => {
	const events = new StoredEvents();
	for (const at of [0, 1]) events.publish(frame(at));
	const read = Promise.withResolvers<void>();
	const busy = ["a", "b"].map((each) =>
		events.inTurn(each, () => read.promise),
	);
	const list = () => listEvents(events, account, sourceKey, { limit: 10 });
	const lists = Array.from({ length: 64 }, list);
	await vi.waitFor(() => expect(events.waitingOf(account)).toBe(64));
	await expect(list()).rejects.toMatchObject({ code: "ArchiveBusy" });
	const find = { account, sourceKeys: [sourceKey], id: idOf(frame(0)[0]!) };
	await expect(
		findEvent(events, { ...find, whole: false, keyMs: 0 }),
	).rejects.toMatchObject({ code: "ArchiveBusy" });
	expect(events.batches).toBe(0);
	read.resolve();
	await Promise.all(busy);
	for (const page of await Promise.all(lists))
		expect(page).toMatchObject({ events: { length: 6 } });
});
