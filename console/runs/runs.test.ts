import { expect, test } from "vitest";
import { monthBeside, monthIn, monthOf } from "./calendar.ts";
import { emptyLog, endedLog, withText } from "./log.ts";
import { durationText, shareDone } from "./progress.ts";
import { mergedRuns } from "./run-list.ts";

const run = (name: string, createTime: string, status = "Succeeded") => ({
	name,
	pipeline: "orders",
	status,
	createTime,
});

const byName = (runs: ReturnType<typeof run>[]) =>
	new Map(runs.map((one) => [one.name, one]));

test("a month has its weeks from Monday, and the Runs of each UTC date", () => {
	const weeks = monthOf("2026-11", [
		run("a", "2026-11-01T00:00:00Z"),
		run("b", "2026-11-01T23:59:59Z", "Failed"),
		run("c", "2026-12-01T00:00:00Z"),
	]);
	expect(weeks).toHaveLength(6);
	expect(weeks[0]!.map(({ date }) => date)).toEqual([
		...["2026-10-26", "2026-10-27", "2026-10-28", "2026-10-29"],
		...["2026-10-30", "2026-10-31", "2026-11-01"],
	]);
	const first = weeks[0]![6]!;
	expect(first).toMatchObject({
		isInMonth: true,
		runs: 2,
		counts: { Succeeded: 1, Failed: 1 },
	});
	expect(
		monthOf("2026-02", [])
			.flat()
			.filter((day) => day.isInMonth),
	).toHaveLength(28);
	expect(monthBeside("2026-01", -1)).toBe("2025-12");
	expect(monthIn("2026-13", Date.parse("2026-11-26T00:00:00Z"))).toBe(
		"2026-11",
	);
});

test("Runs of the live stream come on top, once each, and older ones wait for their page", () => {
	const pages = [
		run("b", "2026-11-02T00:00:00Z", "Running"),
		run("a", "2026-11-01T00:00:00Z"),
	];
	const live = byName([
		run("c", "2026-11-03T00:00:00Z", "Pending"),
		run("b", "2026-11-02T00:00:00Z"),
	]);
	const all = { pipeline: "", status: "" };
	expect(
		mergedRuns(pages, live, all).map(({ name, status }) => [name, status]),
	).toEqual([
		["c", "Pending"],
		["b", "Succeeded"],
		["a", "Succeeded"],
	]);
	const older = byName([...live.values(), run("0", "2026-10-01T00:00:00Z")]);
	const names = (...given: Parameters<typeof mergedRuns>) =>
		mergedRuns(...given).map(({ name }) => name);
	expect(
		names(pages, byName([...older.values(), pages[1]!]), all, true),
	).toEqual(["c", "b", "a"]);
	expect(names([], older, all)).toEqual(["c", "b", "0"]);
	expect(names(pages, live, { ...all, status: "Pending" })).toEqual(["c"]);
	expect(names(pages, live, { ...all, pipeline: "other" })).toEqual([]);
	// Without a stream, what was read stays.
	expect(names(pages, new Map(), all)).toEqual(["b", "a"]);
});

test("a Run that the stream should have and hasn't is deleted", () => {
	const pages = [
		run("b", "2026-11-02T00:00:00Z"),
		run("a", "2026-11-01T00:00:00Z"),
	];
	const live = byName([pages[1]!]);
	expect(
		mergedRuns(pages, live, { pipeline: "", status: "" }).map(
			({ name }) => name,
		),
	).toEqual(["a"]);
});

test("ten thousand Runs are merged at once", () => {
	const many = Array.from({ length: 10_000 }, (_, at) =>
		run(
			`r-${String(at).padStart(5, "0")}`,
			new Date(1.8e12 - at * 1000).toISOString(),
		),
	);
	expect(
		mergedRuns(many, byName(many.slice(0, 500)), { pipeline: "", status: "" }),
	).toHaveLength(10_000);
});

test("a log is read in any pieces, as lines of JSON or text, and its last line may lack an end", () => {
	const text =
		'{"level":"info","time":"2026-11-01T00:00:00Z","role":"load","msg":"<b>day</b>","rows":3}\nplain\n{"level":50,"time":0,"msg":"bad"}\n{"cut';
	const whole = endedLog(withText(emptyLog, text));
	const pieces = endedLog([...text].reduce(withText, emptyLog));
	expect(pieces).toEqual(whole);
	expect(whole.lines).toEqual([
		{
			id: 0,
			level: "info",
			time: "2026-11-01T00:00:00Z",
			message: "<b>day</b>",
			fields: '{"role":"load","rows":3}',
		},
		{ id: 1, level: "text", message: "plain" },
		{ id: 2, level: "error", time: "1970-01-01T00:00:00.000Z", message: "bad" },
		{ id: 3, level: "text", message: '{"cut' },
	]);
});

test("a long log keeps its end, says how much is gone, and its lines keep their ids", () => {
	const log = withText(emptyLog, "x\n".repeat(5_000));
	expect(log.lines).toHaveLength(2_000);
	expect([log.dropped, log.lines[0]!.id, log.lines.at(-1)!.id]).toEqual([
		3_000, 3_000, 4_999,
	]);
	expect(
		withText(emptyLog, `${"y".repeat(1e6)}\n`).lines[0]!.message.length,
	).toBeLessThan(5_000);
});

test("the log says how far the Run is, and keeps saying so", () => {
	const line = (rowsDone: number) =>
		`{"level":"info","msg":"loaded","daysDone":1,"daysTotal":2,"rowsDone":${rowsDone},"rowsTotal":10}\n`;
	const log = withText(withText(emptyLog, line(3) + line(4)), "other\n");
	expect(log.progress).toEqual({
		daysDone: 1,
		daysTotal: 2,
		rowsDone: 4,
		rowsTotal: 10,
	});
	expect(withText(emptyLog, '{"daysDone":"x"}\n').progress).toBeUndefined();
});

test("progress is by rows, or by days, or unknown", () => {
	expect(
		shareDone({ rowsDone: 5, rowsTotal: 10, daysDone: 0, daysTotal: 1 }),
	).toBe(0.5);
	expect(
		shareDone({ rowsDone: 0, rowsTotal: 0, daysDone: 1, daysTotal: 4 }),
	).toBe(0.25);
	expect(shareDone({ status: "Pending" })).toBeUndefined();
	expect(shareDone({ status: "Succeeded", rowsDone: 0, rowsTotal: 0 })).toBe(1);
	expect(shareDone({ rowsDone: 12, rowsTotal: 10 })).toBe(1);
});

test.each([
	[0, "0 s"],
	[61_000, "1 min 1 s"],
	[3_600_000, "1 h"],
	[90_061_000, "1 d 1 h"],
])("%i ms are %s", (ms, text) => {
	expect(durationText(ms)).toBe(text);
});
