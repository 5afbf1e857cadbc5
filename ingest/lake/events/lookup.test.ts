import { expect, test, vi } from "vitest";
import {
	eventAt,
	idOf,
	StoredEvents,
} from "../../../test/support/fixtures/data-plane/stored-events.ts";
import { type FrameEvent, newEventId } from "../../wire/frame-event.ts";
import { listEvents } from "./listing.ts";
import { findEvent } from "./lookup.ts";

const noonMs = Date.parse("2026-03-01T12:00:00.000Z");
const { sourceKey } = StoredEvents;

function find(events: StoredEvents, event: FrameEvent, more: object = {}) {
	return findEvent(events, {
		account: "shop",
		sourceKeys: [sourceKey],
		id: idOf(event),
		whole: false,
		keyMs: 0,
		...more,
	});
}

test("an event is found in its frame, and then in its object, by few reads among hundreds of objects", async () => {
	const events = new StoredEvents();
	const all = Array.from({ length: 300 }, (_, at) =>
		eventAt(noonMs + at * 60_000),
	);
	for (const event of all.slice(0, -1)) {
		events.publish([event]);
		await events.archive();
	}
	events.publish([all.at(-1)!]);
	expect((await find(events, all.at(-1)!)).answer).toMatchObject({
		event: { stage: "Buffer", frames: { first: 300, last: 300 } },
	});
	for (const at of [0, 100, 298]) {
		events.parts.length = 0;
		expect((await find(events, all[at]!)).answer).toMatchObject({
			event: {
				stage: "Bucket",
				eventID: idOf(all[at]!),
				frames: { first: at + 1, last: at + 1 },
				object: expect.stringContaining(sourceKey),
			},
			searched: { from: "2026-03-01", to: "2026-03-01" },
		});
		expect(events.parts.length).toBeLessThan(15);
	}
});

test("an imported event is found, with the time since which manifests have it, also in a source that nobody has sent to", async () => {
	const events = new StoredEvents();
	const parts = Array.from({ length: 20 }, (_, at) => [
		eventAt(noonMs + at * 1_000),
		eventAt(noonMs + at * 1_000 + 500),
	]);
	for (const part of parts) await events.addImported(part);
	const releases = await events.additions.ofSource({
		account: "shop",
		sourceKey,
	});
	const { records } = releases.get("2026-03-01")!;
	for (const at of [0, 13, 19]) {
		const { event } = (await find(events, parts[at]![1]!)).answer as {
			event: object;
		};
		expect(event).toMatchObject({
			state: "imported",
			stage: "Bucket",
			object: expect.stringContaining(`${at + 1}-test.parquet`),
			storedTime: new Date(records[at]!.modifiedMs).toISOString(),
		});
		expect(event).not.toHaveProperty("frames");
	}
	const other = { ...parts[0]![0]!, account: "other" };
	expect(
		(await find(events, other, { account: "other" })).answer,
	).not.toHaveProperty("event");
});

test("of what was imported, a look-up lists the ID's date alone, and leaves out what a sweep deletes meanwhile", async () => {
	const events = new StoredEvents();
	const parts = [0, 1, 2].map((at) => [eventAt(noonMs + at)]);
	await events.addImported([eventAt(noonMs - 24 * 3_600_000)]);
	for (const part of parts) await events.addImported(part);
	events.sweepListed("2026-03-01", 1);
	events.lists.length = 0;
	for (const at of [0, 2]) {
		const { event } = (await find(events, parts[at]![0]!)).answer as {
			event?: object;
		};
		expect(event !== undefined).toBe(at > 0);
	}
	expect(events.lists).toEqual(
		Array(2).fill(expect.stringMatching(/\/releases\/.*\/date=2026-03-01\/$/)),
	);
});

test("an event that came to the stream a minute late is found beside its time", async () => {
	const events = new StoredEvents();
	for (let at = 0; at < 100; at++) {
		events.publish([eventAt(noonMs + at * 2_000)]);
		await events.archive();
	}
	const late = eventAt(noonMs + 100 * 2_000 - 60_000);
	events.publish([eventAt(noonMs + 100 * 2_000), late]);
	await events.archive();
	const { answer } = await find(events, late);
	expect(answer).toMatchObject({ event: { eventID: idOf(late) } });
});

test("an event of a receiver whose clock is ahead is found before its time", async () => {
	const events = new StoredEvents();
	const ahead = eventAt(noonMs + 55_000);
	for (const frame of [
		[eventAt(noonMs), ahead, eventAt(noonMs + 60_000)],
		[eventAt(noonMs + 30_000)],
		[eventAt(noonMs + 40_000)],
		[eventAt(noonMs + 120_000)],
	]) {
		events.publish(frame);
		await events.archive();
	}
	const { answer } = await find(events, ahead);
	expect(answer).toMatchObject({
		event: { eventID: idOf(ahead), frames: { first: 1 } },
	});
});

/** When each event was stored, in seconds after noon, as a look-up and as a list says it. */
async function storedSeconds(events: StoredEvents, all: FrameEvent[]) {
	const list = await listEvents(events, "shop", sourceKey, {
		...{ limit: 100, stored: true },
	});
	const listed = new Map(
		list.ok ? list.events.map((one) => [one.eventID, one.storedTime]) : [],
	);
	const seconds: number[] = [];
	for (const event of all) {
		const { answer } = await find(events, event);
		const storedTime = answer.ok ? answer.event?.storedTime : undefined;
		expect(storedTime).toBe(listed.get(idOf(event)));
		seconds.push((Date.parse(storedTime!) - noonMs) / 1_000);
	}
	return seconds;
}

/** Two cuts, of 0 to 40 s and of 45 to 60 s after noon. An event of the second was received in the time of the first. */
async function twoCuts() {
	const events = new StoredEvents();
	const [first, middle, last, late, next] = [0, 20, 40, 30, 60].map((second) =>
		eventAt(noonMs + second * 1_000),
	) as [FrameEvent, FrameEvent, FrameEvent, FrameEvent, FrameEvent];
	for (const event of [first, middle, last]) events.publish([event]);
	await events.archive();
	events.publish([late], noonMs + 45_000);
	events.publish([next]);
	await events.archive();
	return { events, all: [first, middle, last, late, next] };
}

test("an event that came after a Run's snapshot isn't taken for one of before, because the same cut has both", async () => {
	const { events, all } = await twoCuts();
	expect(await storedSeconds(events, all)).toEqual([0, 20, 40, 45, 60]);
});

test("a Run that has an event still has it when the event's date is compacted; only where two cuts meet, the later one counts", async () => {
	const { events, all } = await twoCuts();
	await events.compact("2026-03-01");
	expect(await storedSeconds(events, all)).toEqual([0, 20, 45, 45, 60]);
});

test("of a date that an earlier version compacted, an event counts as stored when it must have been", async () => {
	const { events, all } = await twoCuts();
	await events.compact("2026-03-01", { isOfEarlierVersion: true });
	expect(await storedSeconds(events, all)).toEqual([120, 140, 160, 150, 180]);
});

test("the event of a sender's key is found after its ID's time, for as long as a key is kept", async () => {
	const events = new StoredEvents();
	const id = newEventId(noonMs - 3_600_000);
	const event = eventAt(noonMs, { id, key: "ab".repeat(16) });
	events.publish([eventAt(noonMs - 1), event]);
	for (const stage of ["Buffer", "Bucket"]) {
		const { answer } = await find(events, event, { keyMs: 7_200_000 });
		expect(answer).toMatchObject({
			event: { stage, time: "2026-03-01T12:00:00.000Z" },
		});
		await events.archive();
	}
	const { answer } = await find(events, event, { keyMs: 600_000 });
	expect(answer).not.toHaveProperty("event");
});

/** An object a minute. The event of a key is in that of its time, with an ID that is an hour older. */
async function keyed(): Promise<{ events: StoredEvents; event: FrameEvent }> {
	const events = new StoredEvents();
	const event = eventAt(noonMs + 200 * 60_000, {
		id: newEventId(noonMs + 140 * 60_000),
		key: "ab".repeat(16),
	});
	for (let at = 0; at < 300; at++) {
		const own = at === 200 ? [event] : [];
		events.publish([eventAt(noonMs + at * 60_000 - 1), ...own]);
		await events.archive();
	}
	return { events, event };
}

test("the event of a key is looked for between its ID's time and the end of the key's window alone", async () => {
	const { events, event } = await keyed();
	events.parts.length = 0;
	const { answer } = await find(events, event, { keyMs: 3_600_000 });
	expect(answer).toMatchObject({ event: { eventID: idOf(event) } });
	expect(events.parts.length).toBeLessThan(110);
	events.parts.length = 0;
	const { answer: none } = await find(events, event, { keyMs: 600_000 });
	expect(none).not.toHaveProperty("event");
	expect(none).not.toHaveProperty("searched.isCut");
	expect(events.parts.length).toBeLessThan(60);
});

test("a search that takes too long ends, and says so", async () => {
	const { events, event } = await keyed();
	let nowMs = 0;
	vi.spyOn(performance, "now").mockImplementation(() => {
		nowMs += 2_000;
		return nowMs;
	});
	const { answer } = await find(events, event, { keyMs: 7_200_000 });
	vi.restoreAllMocks();
	expect(answer).not.toHaveProperty("event");
	expect(answer).toMatchObject({ searched: { isCut: true } });
});

test("a search among imported events that takes too long ends, and says so", async () => {
	const events = new StoredEvents();
	const parts = Array.from({ length: 40 }, (_, at) => [eventAt(noonMs + at)]);
	for (const part of parts) await events.addImported(part);
	let nowMs = 0;
	vi.spyOn(performance, "now").mockImplementation(() => {
		nowMs += 2_000;
		return nowMs;
	});
	events.reads.length = 0;
	const { answer } = await find(events, parts.at(-1)![0]!, {
		sourceKeys: [sourceKey, "00".repeat(16), "11".repeat(16)],
	});
	vi.restoreAllMocks();
	expect(answer).not.toHaveProperty("event");
	expect(answer).toMatchObject({ searched: { isCut: true } });
	expect(events.reads.length).toBeLessThan(40);
});

test("the body and the captured headers are there only if they are asked for", async () => {
	const events = new StoredEvents();
	const event = eventAt(noonMs, { headers: '{"x-a":"1"}' });
	events.publish([event]);
	for (const _ of ["Buffer", "Bucket"]) {
		const { answer, body } = await find(events, event);
		expect(JSON.stringify(answer)).not.toContain("x-a");
		expect(body).toBeUndefined();
		const whole = await find(events, event, { whole: true });
		expect(whole.answer).toMatchObject({ event: { headers: { "x-a": "1" } } });
		expect(Buffer.from(whole.body!)).toEqual(event.body);
		await events.archive();
	}
});

test("nobody's event is found under another account or source", async () => {
	const events = new StoredEvents();
	const event = eventAt(noonMs);
	events.publish([event]);
	for (const _ of ["Buffer", "Bucket"]) {
		for (const more of [
			{ account: "other" },
			{ sourceKeys: ["00".repeat(16)] },
		])
			expect((await find(events, event, more)).answer).not.toHaveProperty(
				"event",
			);
		await events.archive();
	}
});
