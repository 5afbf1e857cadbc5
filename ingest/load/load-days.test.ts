import { describe, expect, test } from "vitest";
import type { HeldDate } from "../../packages/warehouses/load/load-day.ts";
import { type HeldDates, planDays, planTables } from "./load-days.ts";
import type { DatePlan, DateStep } from "./steps/step.ts";
import type { WantedTable } from "./wanted-tables.ts";

function object(key: string, rows: number) {
	return { key, url: `https://s3/${key}`, rows, bytes: 10 * rows };
}

const dates = [
	{ date: "2026-03-01", rows: 3, objects: [object("a", 1), object("b", 2)] },
	{ date: "2026-03-02", rows: 0, objects: [] },
	{ date: "2026-03-03", rows: 4, objects: [object("c", 4)] },
];

test("every day of the manifest is loaded in order, even an empty one, with a file for each object", () => {
	expect(planDays(dates, "/s")).toEqual([
		{
			date: "2026-03-01",
			rows: 3,
			objects: [
				{ ...object("a", 1), file: "/s/2026-03-01-0.parquet" },
				{ ...object("b", 2), file: "/s/2026-03-01-1.parquet" },
			],
			steps: [],
		},
		{ date: "2026-03-02", rows: 0, objects: [], steps: [] },
		{
			date: "2026-03-03",
			rows: 4,
			objects: [{ ...object("c", 4), file: "/s/2026-03-03-0.parquet" }],
			steps: [],
		},
	]);
});

/** A date that holds a row of each of these objects. */
function holding(...objects: string[]): HeldDate {
	const rows = objects.length;
	const load = { objects, rows, unfit: {}, run: "before" };
	return { rows, digest: "7", loadedDigest: "7", loads: [load] };
}

const [a, b] = [object("a", 1), object("b", 1)];
const date = "2026-03-01";
const heldOn = (...objects: string[]): HeldDates =>
	new Map([[date, holding(...objects)]]);

test("a date that holds a part gets the rest beside its rows, and any other is replaced", () => {
	const wanted = [
		{ date, rows: 2, objects: [a, b] },
		{ date: "2026-03-02", rows: 1, objects: [a] },
	];
	const [part, whole] = planDays(wanted, "/s", heldOn("a"));
	expect(part).toEqual({
		date,
		rows: 1,
		objects: [{ ...b, file: "/s/2026-03-01-0.parquet" }],
		steps: [],
		kept: { rows: 1, unfit: {}, held: holding("a") },
	});
	expect(whole).not.toHaveProperty("kept");
	expect(whole?.objects).toHaveLength(1);
	const [other] = planDays(wanted, "/s", heldOn("gone"));
	expect(other).not.toHaveProperty("kept");
	expect(other?.objects).toHaveLength(2);
});

describe("a feature's step", () => {
	const plans: DatePlan[] = [];
	const step: DateStep = {
		on: (plan) => {
			plans.push(plan);
			return { keep: "true", leavesOut: 1 };
		},
	};
	const planned = (steps: DateStep[], objects = [object("c", 3)]) =>
		planDays([{ date, objects, steps }], "/s")[0]!;

	test("is done to the rows that are loaded, which are fewer by what it leaves out", () => {
		const more: DateStep = { on: () => ({ keep: "false" }) };
		const { rows, steps } = planned([step, more, { on: () => undefined }, {}]);
		expect(steps).toEqual([{ keep: "true", leavesOut: 1 }, { keep: "false" }]);
		expect(rows).toBe(2);
	});

	test("has objects that it needs in files of its own, and learns what the date gets", () => {
		planned([step]);
		const { addition, files } = plans.at(-1)!;
		expect(addition).toBeUndefined();
		expect(files("early", [a])).toEqual([
			{ ...a, file: "/s/2026-03-01-early-0.parquet" },
		]);
		planDays([{ date, objects: [a, b], steps: [step] }], "/s", heldOn("a"));
		expect(plans.at(-1)!.addition?.objects).toEqual([b]);
	});

	test("is not done where nothing is loaded, and only what decides is recorded", () => {
		expect(planned([step], [])).toMatchObject({ rows: 0, steps: [] });
		const deciding = ["erased"];
		expect(planned([{ ...step, deciding }], []).steps).toEqual([{ deciding }]);
		expect(planned([{ ...step, deciding }]).steps).toEqual([
			{ keep: "true", leavesOut: 1, deciding },
		]);
		expect(planned([{ on: () => undefined, deciding: [] }]).steps).toEqual([]);
	});
});

describe("tables of a Run", () => {
	const table = (name: string) => ({ name, columns: [], description: "" });
	const own: WantedTable = {
		table: table("orders"),
		dates: [{ date, rows: 2, objects: [a, b] }],
	};
	const rejected = { name: "orders_rejected", description: "" };
	const filesOf = (days: readonly { objects: readonly { file: string }[] }[]) =>
		days.flatMap(({ objects }) => objects.map(({ file }) => file));

	test("have each what it holds, and files of its own", () => {
		const beside = { ...own, table: table("orders_quarantine") };
		const held = new Map([["orders_quarantine", heldOn("a")]]);
		const plans = planTables([own, beside, own], undefined, "/s", held);
		expect(filesOf(plans.days)).toEqual([
			"/s/2026-03-01-0.parquet",
			"/s/2026-03-01-1.parquet",
		]);
		expect(plans.beside.map(filesOf)).toEqual([
			["/s/2026-03-01-beside-0-0.parquet"],
			["/s/2026-03-01-beside-1-0.parquet", "/s/2026-03-01-beside-1-1.parquet"],
		]);
		expect(plans).not.toHaveProperty("rejecting");
		const part = new Map([["orders", heldOn("a")]]);
		expect(planTables([own], undefined, "/s", part).days[0]?.rows).toBe(1);
	});

	const rejecting = (held: Record<string, HeldDates>, steps: DateStep[] = []) =>
		planTables(
			[{ ...own, dates: own.dates.map((each) => ({ ...each, steps })) }],
			rejected,
			"/s",
			new Map(Object.entries(held)),
		).rejecting!;

	test("share files with the table of values that don't fit, where both lack the same", () => {
		expect(filesOf(rejecting({}))).toEqual([
			"/s/2026-03-01-0.parquet",
			"/s/2026-03-01-1.parquet",
		]);
		expect(rejecting({})[0]).not.toHaveProperty("kept");
		const both = { orders: heldOn("a"), orders_rejected: heldOn("a") };
		expect(filesOf(rejecting(both))).toEqual(["/s/2026-03-01-0.parquet"]);
		expect(rejecting(both)[0]?.kept?.held).toEqual(holding("a"));
	});

	test("have others for it where they lack something else", () => {
		const one = { orders_rejected: heldOn("a") };
		expect(filesOf(rejecting(one))).toEqual([
			"/s/2026-03-01-rejecting-0.parquet",
		]);
		expect(rejecting(one)[0]?.kept).toBeDefined();
		expect(filesOf(rejecting({ orders: heldOn("a") }))).toEqual([
			"/s/2026-03-01-rejecting-0.parquet",
			"/s/2026-03-01-rejecting-1.parquet",
		]);
	});

	test("have others for it where a step needs other objects", () => {
		// Only the table of values that don't fit keeps rows; both lack the same objects.
		const step: DateStep = {
			on: ({ addition, files }) => addition && { brings: files("early", [a]) },
		};
		const none = { orders_rejected: new Map([[date, holding()]]) };
		const [day] = rejecting(none, [step]);
		expect(filesOf([day!])[0]).toBe("/s/2026-03-01-rejecting-0.parquet");
		expect(day?.steps[0]?.brings).toHaveLength(1);
	});

	test("know by no ledger how many values don't fit", () => {
		const both = holding("a", "b");
		const loads = both.loads.map((load) => ({ ...load, rows: 1 }));
		const held = new Map([[date, { ...both, rows: 1, loads }]]);
		const [day] = rejecting({ orders_rejected: held });
		expect(day).toMatchObject({ rows: 0, objects: [], kept: { rows: 1 } });
	});
});
