import { afterEach, expect, test, vi } from "vitest";
import {
	eventAt,
	idOf,
	StoredEvents,
} from "../../../test/support/fixtures/data-plane/stored-events.ts";
import type { FrameEvent } from "../../wire/frame-event.ts";
import { pageMs } from "./buffered-events.ts";
import { listEvents } from "./listing.ts";

/* A buffer of which a page reads a part: windows of two frames. */

const noonMs = Date.parse("2026-03-01T12:00:00.000Z");
const { sourceKey } = StoredEvents;

afterEach(() => {
	vi.restoreAllMocks();
});

/** Four frames a minute, each with events of receivers whose clocks are ahead or that were late. */
function backlog(frames: number): { events: StoredEvents; all: FrameEvent[] } {
	const events = new StoredEvents();
	events.frameBytes = 16 * 1024 ** 2;
	const all: FrameEvent[] = [];
	for (let at = 0; at < frames; at++) {
		const frame = [3_000, 20_000, -20_000].map((ms) =>
			eventAt(noonMs + at * 15_000 + ms),
		);
		const own = all.length;
		all.push(...frame);
		events.publish(all.slice(own), noonMs + at * 15_000);
	}
	return { events, all };
}

async function page(events: StoredEvents, asked: object) {
	const answer = await listEvents(events, "shop", sourceKey, {
		limit: 5,
		...asked,
	});
	if (!answer.ok) throw new Error(answer.error.message);
	return answer;
}

async function pages(
	events: StoredEvents,
	limit: number,
	between: (page: number) => unknown = () => undefined,
): Promise<string[][]> {
	const all: string[][] = [];
	for (let cursor: string | undefined; ; ) {
		const asked = { limit, ...(cursor && { cursor }) };
		const { events: some, cursor: next } = await page(events, asked);
		all.push(some.map(({ eventID }) => eventID));
		if (next === undefined) return all;
		cursor = next;
		await between(all.length);
	}
}

const byTime = (all: readonly FrameEvent[]) =>
	all
		.toSorted((a, b) => b.receivedAtMs - a.receivedAtMs)
		.map((event) => idOf(event));

test.each([1, 4, 7, 100])(
	"each event of a long buffer comes once on pages of %i, in the order of time",
	async (limit) => {
		const { events, all } = backlog(20);
		expect((await pages(events, limit)).flat()).toEqual(byTime(all));
	},
);

test.each([1, 3, 6])(
	"each event comes once if a long buffer is archived after page %i",
	async (when) => {
		const { events, all } = backlog(20);
		const seen = await pages(
			events,
			4,
			(count) => count === when && events.archive(),
		);
		expect(seen.flat().toSorted()).toEqual(all.map(idOf).toSorted());
	},
);

test("an event that is archived while the page reads the buffer is on that page", async () => {
	const { events, all } = backlog(20);
	const frames = events.frames.bind(events);
	events.frames = (wanted) => {
		const next = frames(wanted);
		return async () => {
			if (wanted.to === 18) await events.archive();
			return wanted.to === 18 ? undefined : next();
		};
	};
	const { events: shown } = await page(events, { limit: 50 });
	expect(shown.map(({ eventID }) => eventID)).toEqual(byTime(all).slice(0, 50));
});

test("a page reads no more of the buffer than it needs, and no frame again that was listed", async () => {
	const { events } = backlog(100);
	const { cursor } = await page(events, { limit: 6 });
	expect(events.batches).toBeLessThanOrEqual(10);
	events.batches = 0;
	await pages(events, 6);
	expect(events.batches).toBeLessThan(600);
	expect(cursor).toBeDefined();
});

test("times before the asked ones aren't read", async () => {
	const { events } = backlog(100);
	const from = new Date(noonMs + 97 * 15_000).toISOString();
	const answer = await page(events, { from, limit: 100 });
	expect(answer.events).toHaveLength(8);
	expect(answer).not.toHaveProperty("cursor");
	expect(events.batches).toBeLessThanOrEqual(6);
});

test("a page that takes too long ends with what is certain, and its cursor leads to the rest", async () => {
	const { events, all } = backlog(40);
	let nowMs = 0;
	vi.spyOn(performance, "now").mockImplementation(() => {
		nowMs += pageMs / 4;
		return nowMs;
	});
	const seen = await pages(events, 1_000);
	expect(seen.length).toBeGreaterThan(3);
	expect(seen.flat()).toEqual(byTime(all));
});

test("a quiet source's only event is found at the end of others' long buffer, page by page", async () => {
	const events = new StoredEvents();
	events.frameBytes = 16 * 1024 ** 2;
	const quiet = eventAt(noonMs);
	events.publish([quiet]);
	for (let at = 1; at < 40; at++)
		events.publish([eventAt(noonMs + at * 1_000, { account: "busy" })]);
	let nowMs = 0;
	vi.spyOn(performance, "now").mockImplementation(() => {
		nowMs += pageMs / 4;
		return nowMs;
	});
	expect((await pages(events, 5)).flat()).toEqual([idOf(quiet)]);
});
