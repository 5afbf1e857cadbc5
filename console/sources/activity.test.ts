import { expect, test } from "vitest";
import {
	afterSample,
	eventsPerMinute,
	loadedState,
	progressOf,
	type SourceDay,
	waitBeforeReadMs,
	weeksOf,
} from "./activity.ts";

const noon = Date.parse("2026-03-01T12:00:00Z");
const source = (accepted: number, through: string) => ({
	id: "1",
	counts: { accepted },
	archivedThrough: through,
	lastEventTime: through,
});

test("events a minute are what came between the last two counts", () => {
	const one = source(100, "2026-03-01T11:58:00Z");
	const two = source(400, "2026-03-01T11:59:30Z");
	const first = afterSample(undefined, one);
	expect(eventsPerMinute(first, one, noon)).toBeUndefined();
	expect(afterSample(first, one)).toBe(first);
	const second = afterSample(first, two);
	expect(eventsPerMinute(second, two, noon)).toBe(200);
	expect(eventsPerMinute(second, two, noon + 600_000)).toBe(0);
	expect(eventsPerMinute(undefined, { id: "1" }, noon)).toBe(0);
});

test("a date that leaves the counts is no rate", () => {
	const samples = afterSample(
		afterSample(undefined, source(100, "2026-03-01T11:58:00Z")),
		source(40, "2026-03-01T11:59:00Z"),
	);
	const now = source(40, "2026-03-01T11:59:00Z");
	expect(eventsPerMinute(samples, now, noon)).toBeUndefined();
});

const day = (date: string, part: Partial<SourceDay> = {}): SourceDay => ({
	date,
	...{ received: 0, stored: 0, quarantined: 0, imported: 0 },
	...part,
});

test("31 dates stand in weeks from Monday", () => {
	const dates = ["2026-03-01", "2026-02-28", "2026-02-25"];
	const weeks = weeksOf(dates.map((date) => day(date)));
	expect(weeks).toHaveLength(1);
	expect(weeks[0]!.map(({ date }) => date.slice(5))).toEqual([
		...["02-23", "02-24", "02-25", "02-26", "02-27", "02-28", "03-01"],
	]);
	expect(weeks[0]!.map(({ day: one }) => one !== undefined)).toEqual([
		...[false, false, true, false, false, true, true],
	]);
	expect(weeksOf([])).toEqual([]);
});

test("a date is loaded once every table that takes it has it", () => {
	const load = (state: string) => ({ pipeline: state, table: "t", state });
	const states = (stored: number, ...all: string[]) =>
		loadedState(day("2026-03-01", { stored, loads: all.map(load) }));
	expect(states(1, "Loaded", "Excluded")).toBe("Loaded");
	expect(states(1, "Loaded", "Waiting")).toBe("Waiting");
	expect(states(1, "Excluded")).toBeUndefined();
	expect(states(0, "Loaded")).toBeUndefined();
	expect(loadedState(day("2026-03-01", { stored: 1 }))).toBeUndefined();
});

test("a Run of the Source's own Pipelines is progress", () => {
	const shop = { name: "shop", archivedThrough: "2026-03-01T12:00:00Z" };
	const pipeline = (source: string, run: string) => ({
		name: "orders",
		sourceRef: { name: source },
		lastRun: { name: run, status: "Succeeded" },
	});
	const before = progressOf(shop, [pipeline("shop", "orders-1")]);
	expect(progressOf(shop, [pipeline("shop", "orders-2")])).not.toBe(before);
	const of = (run: string) => progressOf(shop, [pipeline("other", run)]);
	expect(of("orders-1")).toBe(of("orders-2"));
});

test("two reads follow at once, and the next when the first is a minute old", () => {
	expect(waitBeforeReadMs([], 5)).toBe(0);
	expect(waitBeforeReadMs([1], 5)).toBe(0);
	expect(waitBeforeReadMs([1, 2], 5)).toBe(59_996);
	expect(waitBeforeReadMs([1, 2], 60_001)).toBe(0);
	expect(waitBeforeReadMs([1, 2, 3], 5)).toBe(59_997);
});
