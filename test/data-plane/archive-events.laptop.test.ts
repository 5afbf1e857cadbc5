import { randomBytes, randomUUID } from "node:crypto";
import { jetstreamManager } from "@nats-io/jetstream";
import { afterAll, beforeAll, expect, test } from "vitest";
import { askArchiveForEvents } from "../../api/events/archive-question.ts";
import { framesOf } from "../../ingest/lake/events/event-store.ts";
import {
	eventIdText,
	type FrameEvent,
	newEventId,
} from "../../ingest/wire/frame-event.ts";
import type {
	EventAnswer,
	EventsAnswer,
	EventsAsked,
	FoundEvent,
	StoredEvent,
} from "../../packages/contracts/stored-event.ts";
import { utcDate } from "../../packages/contracts/utc-date.ts";
import { createLog } from "../../packages/service/log.ts";
import {
	ArchiveFixture,
	newEvent,
} from "../support/fixtures/data-plane/archive-fixture.ts";
import {
	CompactionFixture,
	closedDate,
	closedMs,
} from "../support/fixtures/data-plane/compaction-fixture.ts";
import {
	type Servers,
	startServers,
} from "../support/servers/archive-servers.ts";

/* Archive answers questions about events wherever they are: in the buffer, in the bucket, compacted, apart or released. */

let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(() => servers?.stop());

const dayMs = 86_400_000;

/** An event whose ID carries its time, as receive makes it. */
function eventAt(
	receivedAtMs: number,
	body: string,
	more: Partial<FrameEvent> = {},
): FrameEvent {
	return newEvent(body, {
		id: newEventId(receivedAtMs),
		receivedAtMs,
		...more,
	});
}

const idOf = ({ id }: FrameEvent) => eventIdText(id);

async function listed(
	archive: ArchiveFixture,
	asked: Partial<EventsAsked> = {},
	more: object = {},
): Promise<{ events: StoredEvent[]; ids: string[]; cursor?: string }> {
	const answer: EventsAnswer = await archive.askEvents(asked, more);
	if (!answer.ok) throw new Error(answer.error.message);
	return { ...answer, ids: answer.events.map(({ eventID }) => eventID) };
}

async function found(
	archive: ArchiveFixture,
	event: FrameEvent,
	more: object = {},
): Promise<FoundEvent | undefined> {
	const answer: EventAnswer = await archive.askEvent(idOf(event), more);
	if (!answer.ok) throw new Error(answer.error.message);
	return answer.event;
}

/** Every page of a list, one after another. */
async function pages(
	archive: ArchiveFixture,
	asked: Partial<EventsAsked>,
	between: () => Promise<unknown> = async () => undefined,
): Promise<string[]> {
	const all: string[] = [];
	let cursor: string | undefined;
	do {
		const page = await listed(archive, { ...asked, ...(cursor && { cursor }) });
		all.push(...page.ids);
		cursor = page.cursor;
		await between();
	} while (cursor !== undefined);
	return all;
}

const later = { maxAgeMs: 600_000 };

test("an event is listed and found as soon as it is in the buffer, and the same in the bucket", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { sourceKey } = archive;
	const now = Date.now();
	const events = [
		eventAt(now - 20, '{"n":1}', { sourceKey }),
		eventAt(now - 10, '{"n":22}', { sourceKey, kind: "form" }),
	];
	const others = [
		eventAt(now, '"a neighbour\'s"', { sourceKey: "00".repeat(16) }),
		eventAt(now, '"of another account"', { sourceKey, account: "other" }),
	];
	const running = await archive.start(later);
	const sequence = await archive.publish([...events, ...others]);
	const newest = {
		eventID: idOf(events[1]!),
		time: new Date(now - 10).toISOString(),
		kind: "form",
		bytes: 8,
		state: "accepted",
	};
	const { stream, store } = archive;
	const show = async () => {
		const list = await listed(archive);
		expect(list.events[0]).toEqual(newest);
		expect(list.ids).toEqual(events.map(idOf).reverse());
		expect(list).not.toHaveProperty("cursor");
		const match = { bodyPointer: "/n", value: "22" };
		expect((await listed(archive, { match })).ids).toEqual([idOf(events[1]!)]);
		return found(archive, events[1]!);
	};
	expect(await show()).toEqual({
		...newest,
		sourceKey,
		stage: "Buffer",
		frames: { stream, first: sequence, last: sequence },
		storedTime: expect.any(String),
	});
	await running.flush();
	const folder = { account: "shop", sourceKey, date: utcDate(now - 10) };
	expect(await show()).toEqual({
		...newest,
		sourceKey,
		stage: "Bucket",
		frames: { stream, first: sequence, last: sequence },
		object: store.keys.events(folder, stream, sequence),
		storedTime: expect.any(String),
	});
});

test("an account gets its own events only, whatever source key it names", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { sourceKey } = archive;
	const running = await archive.start(later);
	const buffered = async (account: string) => {
		const event = eventAt(Date.now(), '"secret"', { sourceKey, account });
		await archive.publish([event]);
		return event;
	};
	const stages = [() => undefined, running.flush];
	for (const stage of stages) {
		const event = await buffered("shop");
		await stage();
		const as = { account: "other" };
		expect((await listed(archive, {}, as)).ids).toEqual([]);
		expect(await found(archive, event, { ...as, body: true })).toBeUndefined();
		const key = { sourceKeys: [randomBytes(16).toString("hex")] };
		expect(await found(archive, event, key)).toBeUndefined();
		expect(await found(archive, event)).toMatchObject({ bytes: 8 });
	}
});

test("the body and the captured headers come only if they are asked for, byte for byte", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { sourceKey, shard } = archive;
	const running = await archive.start(later);
	const body = `{"n": 1.0,\n "text": "\\u00fc ü"}`;
	const headers = '{"x-a":"1"}';
	const event = eventAt(Date.now(), body, { sourceKey, headers });
	await archive.publish([event]);
	const ask = askArchiveForEvents(() => archive.connection, createLog("test"));
	const question = { account: "shop", sourceKeys: [sourceKey] };
	for (const stage of ["Buffer", "Bucket"]) {
		const whole = await ask(shard, {
			...question,
			id: idOf(event),
			body: true,
		});
		expect(whole.answer).toMatchObject({
			event: { stage, headers: { "x-a": "1" } },
		});
		expect(whole.body?.toString()).toBe(body);
		const head = await ask(shard, { ...question, id: idOf(event) });
		expect(head.body).toBeUndefined();
		expect(JSON.stringify(head)).not.toMatch(/text|x-a/);
		await running.flush();
	}
});

test("each event comes once on the pages of a list, also if it is archived or others come between two pages", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { sourceKey } = archive;
	const running = await archive.start(later);
	const now = Date.now();
	// Woven into each other, as those of several receivers.
	const frame = (at: number) =>
		[0, 3, 6].map((ms) => eventAt(now + at + ms, '"e"', { sourceKey }));
	const archived = [frame(0), frame(2), frame(4)];
	for (const events of archived) {
		await archive.publish(events);
		await running.flush();
	}
	const buffered = [frame(10), frame(11)];
	for (const events of buffered) await archive.publish(events);
	const all = [...archived, ...buffered].flat().map(idOf);
	const cuts = [
		async () => undefined,
		async () => {
			await archive.publish([eventAt(Date.now(), '"new"', { sourceKey })]);
			await running.flush();
		},
	];
	for (const cut of cuts) {
		const seen = await pages(archive, { limit: 2 }, cut);
		expect(seen.toSorted()).toEqual(all.toSorted());
		expect(seen.slice(0, 6)).toEqual(
			buffered.flat().map(idOf).toSorted().reverse(),
		);
	}
});

test("a list can be limited to times, types and states", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { sourceKey } = archive;
	const running = await archive.start(later);
	const now = Date.now();
	const validated = (type: string, kinds: string[]) =>
		JSON.stringify({
			plan: "orders",
			version: "0".repeat(16),
			type,
			...(kinds.length > 0 && {
				violations: kinds.map((kind) => ({ kind, path: "/n", message: "m" })),
			}),
		});
	const paid = eventAt(now - dayMs, '"a"', {
		sourceKey,
		violations: validated("paid", []),
	});
	const odd = eventAt(now - 10, '"b"', {
		sourceKey,
		violations: validated("paid", ["TypeMismatch", "TypeMismatch"]),
		quarantined: true,
	});
	const kept = eventAt(now, '"c"', {
		sourceKey,
		violations: validated("sent", ["OutOfRange"]),
		quarantined: true,
	});
	await archive.publish([paid, odd, kept]);
	const ids = async (asked: Partial<EventsAsked>) =>
		(await listed(archive, asked)).ids;
	const lists = async () => {
		expect(await ids({ types: ["paid"] })).toEqual([odd, paid].map(idOf));
		expect(await ids({ from: new Date(now - 10).toISOString() })).toEqual(
			[kept, odd].map(idOf),
		);
		expect(await ids({ to: new Date(now - 10).toISOString() })).toEqual(
			[odd, paid].map(idOf),
		);
		expect(await ids({ state: "accepted" })).toEqual([idOf(paid)]);
		expect(
			(await listed(archive, { types: ["paid"] })).events[0],
		).toMatchObject({
			state: "quarantined",
			type: "paid",
			violations: ["TypeMismatch"],
		});
	};
	await lists();
	expect(await ids({ state: "quarantined" })).toEqual([kept, odd].map(idOf));
	await running.flush();
	await lists();
	expect(await found(archive, kept)).toMatchObject({
		state: "quarantined",
		plan: "orders",
		violations: [{ kind: "OutOfRange", path: "/n", message: "m" }],
	});
	await archive.askRelease({
		operation: randomUUID(),
		filter: { types: ["paid"] },
	});
	expect(await ids({ state: "quarantined" })).toEqual([idOf(kept)]);
	expect(await ids({ state: "released" })).toEqual([idOf(odd)]);
	expect(await found(archive, odd)).toMatchObject({
		state: "released",
		released: {
			time: expect.any(String),
			object: expect.stringMatching("/releases/"),
		},
	});
});

test("a compacted date's events are listed and found in the object that has them now", async () => {
	const compaction = await CompactionFixture.open(servers, 0);
	const { archive, running } = compaction;
	const { sourceKey } = archive;
	const start = Math.floor(closedMs / dayMs) * dayMs;
	const events = Array.from({ length: 12 }, (_, index) =>
		eventAt(start + index * 1_000, `"${index}"`, { sourceKey }),
	);
	for (const event of events) await archive.publish([event]);
	await running.flush();
	const before = await listed(archive, { limit: 5 });
	const stored = async () =>
		(await listed(archive, { limit: 12, stored: true })).events;
	const storedBefore = await stored();
	const output = compaction.outputKey();
	await compaction.compactor().look(Date.now(), compaction.signal);
	for (const event of [events[0]!, events[7]!, events[11]!])
		expect(await found(archive, event)).toMatchObject({
			stage: "Bucket",
			object: output,
			time: expect.stringMatching(closedDate),
		});
	expect(await pages(archive, { limit: 5 })).toEqual(
		events.map(idOf).reverse(),
	);
	// The Runs that had them still have.
	expect(storedBefore[0]).toHaveProperty("storedTime");
	expect(await stored()).toEqual(storedBefore);
	expect(await archive.askEvents({ cursor: before.cursor! })).toMatchObject({
		ok: false,
		error: { code: "CursorExpired" },
	});
});

test("the event of a sender's key is found although it is later than its ID", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { sourceKey } = archive;
	const running = await archive.start(later);
	const now = Date.now();
	const event = eventAt(now, '"second attempt"', {
		sourceKey,
		id: newEventId(now - 3_600_000),
		key: "ab".repeat(16),
	});
	for (const ms of [1, 2, 3]) {
		await archive.publish([eventAt(now - ms, '"other"', { sourceKey })]);
		await running.flush();
	}
	await archive.publish([event]);
	for (const stage of ["Buffer", "Bucket"]) {
		expect(await found(archive, event, { keySeconds: 7_200 })).toMatchObject({
			stage,
			time: new Date(now).toISOString(),
		});
		await running.flush();
	}
	expect(await found(archive, event, { keySeconds: 0 })).toBeUndefined();
});

test("an id that no event has is not found, and an archive that isn't ready says so", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { sourceKey } = archive;
	await archive.publish([eventAt(Date.now(), '"e"', { sourceKey })]);
	const running = await archive.start(later);
	const unknown = eventAt(Date.now(), '"never sent"');
	expect(await found(archive, unknown)).toBeUndefined();
	expect(
		await archive.askEvents({
			cursor: Buffer.from("{}").toString("base64url"),
		}),
	).toMatchObject({ error: { code: "CursorInvalid" } });
	await running.closeResponders();
	await expect(
		askArchiveForEvents(() => archive.connection, createLog("test"))(
			archive.shard,
			{
				account: "shop",
				sourceKeys: [sourceKey],
				list: { limit: 1 },
			},
		),
	).rejects.toMatchObject({ code: "Unavailable", status: 503 });
});

test("frames that are purged before they are read are left out", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { connection, shard, sourceKey, stream } = archive;
	const publish = () =>
		archive.publish([eventAt(Date.now(), '"e"', { sourceKey })]);
	await publish();
	const to = await publish();
	const wanted = { shard, stream, from: to - 1, to };
	const read = framesOf(connection, wanted);
	const byTime = framesOf(connection, { ...wanted, sinceMs: 0 });
	const { streams } = await jetstreamManager(connection);
	await streams.purge(stream);
	expect(await read()).toEqual([]);
	expect(await byTime()).toEqual([]);
	expect(await read()).toBeUndefined();
});

test("what one account asks keeps no other waiting for all of it", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { sourceKey } = archive;
	const own = "aa".repeat(16);
	const running = await archive.start({
		...later,
		// The neighbour's objects come slowly.
		wrapPartStore: (store) =>
			new Proxy(store, {
				get: (target, name) => {
					const value = Reflect.get(target, name);
					if (typeof value !== "function") return value;
					return name === "getPart"
						? async (key: string, range: string) => {
								if (key.includes("account=busy"))
									await new Promise((done) => setTimeout(done, 200));
								return target.getPart(key, range);
							}
						: value.bind(target);
				},
			}),
	});
	const now = Date.now();
	await archive.publish([
		eventAt(now, '"b"', { sourceKey: own, account: "busy" }),
		eventAt(now, '"s"', { sourceKey }),
	]);
	await running.flush();
	const busy = { account: "busy", sourceKeys: [own] };
	let done = 0;
	const many = Array.from({ length: 40 }, () =>
		archive.askEvents({}, busy).then(() => done++),
	);
	expect((await listed(archive)).ids).toHaveLength(1);
	expect(done).toBeLessThan(20);
	await Promise.all(many);
});
