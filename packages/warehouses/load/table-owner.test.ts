import { describe, expect, test } from "vitest";
import { manifestOf } from "../../../test/support/examples/manifest-example.ts";
import type { LoadInput } from "../../contracts/job.ts";
import { JobFailure } from "./failure.ts";
import {
	type FoundTable,
	requireFreeName,
	type TableMark,
	useOf,
} from "./table-mark.ts";

const manifest = manifestOf();
const { sourceKey } = manifest;
const otherKey = "e".repeat(32);
const run = "earlier";
const snapshotMs = Date.parse(manifest.snapshotTime) - 1;
const ours: TableMark = { run, snapshotMs, pipeline: "shop/p", sourceKey };
const foreign: TableMark = { ...ours, pipeline: "rivals/secret-pipeline" };
const otherSource: TableMark = { ...ours, sourceKey: otherKey };
const through = "2026-03-01";
/** As early builds wrote them. */
const former = (key: string): TableMark => ({
	run,
	snapshotMs,
	holds: { sourceKey: key, through },
});

function input(more: Partial<LoadInput> = {}): LoadInput {
	return {
		version: 1,
		run: { name: "r", uid: manifest.run, account: "shop", pipeline: "p" },
		destination: { type: "DuckDB", path: "w.duckdb" },
		table: { name: "orders", columns: [], description: "" },
		strategy: "Incremental",
		rebuild: false,
		manifestURL: "http://x",
		...more,
	};
}

function use(
	mark: TableMark | undefined,
	found: Partial<FoundTable> = {},
	more: Partial<LoadInput> = {},
) {
	const table = { mark, isEmpty: false, incompatibility: undefined, ...found };
	return useOf(input(more), manifest, table);
}

function refusal(...parameters: Parameters<typeof use>): JobFailure {
	try {
		use(...parameters);
	} catch (error) {
		if (error instanceof JobFailure) return error;
		throw error;
	}
	throw new Error("The table was not refused");
}

const incompatibility = 'it has no column "date"';
const asItIs = { replaces: false };

describe("the same Pipeline on the same source key goes on without a word", () => {
	test.each<[string, TableMark]>([
		["deleted and applied again", ours],
		["restored into another cluster, before its first load ended", ours],
		["with a load complete", { ...ours, holds: { sourceKey, through } }],
		["upgraded from an early build", former(sourceKey)],
		[
			"upgraded again, after an early build's load was interrupted",
			{ run, snapshotMs, pipeline: "shop/p" },
		],
		[
			"the Run itself, upgraded while it loaded",
			{ run: manifest.run, snapshotMs },
		],
	])("%s", (_, mark) => {
		expect(use(mark)).toEqual({ ...asItIs, mark });
		expect(use(mark, { incompatibility }, { rebuild: true }).replaces).toBe(
			true,
		);
		expect(refusal(mark, { incompatibility }).code).toBe("TableIncompatible");
	});
});

describe("a table that isn't the Pipeline's is refused, unless it may adopt it", () => {
	const cases: [string, TableMark | undefined, Partial<FoundTable>, string][] =
		[
			["rows without a mark", undefined, {}, "it has rows that no Run marked"],
			[
				"an empty table that doesn't fit",
				undefined,
				{ isEmpty: true, incompatibility },
				"no Run has marked it",
			],
			[
				"a view",
				undefined,
				{ otherKind: "VIEW", incompatibility: "it is a VIEW" },
				"it is a VIEW",
			],
			["another Pipeline", foreign, {}, "another Pipeline has marked it"],
			[
				"another Pipeline, which waits for its first event",
				foreign,
				{ isEmpty: true },
				"another Pipeline has marked it",
			],
			[
				"another Pipeline and Source",
				{ ...foreign, sourceKey: otherKey },
				{},
				"it holds the events of another Source",
			],
			[
				"another Source, by an early build",
				former(otherKey),
				{},
				"it holds the events of another Source",
			],
			[
				"a load of an early build that was interrupted",
				{ run, snapshotMs },
				{},
				"another Pipeline has marked it",
			],
		];

	test.each(cases)("%s", (_, mark, found, why) => {
		for (const rebuild of [false, true]) {
			const { code, message, retryable } = refusal(mark, found, { rebuild });
			expect({ code, retryable }).toEqual({
				code: "TableNotOurs",
				retryable: false,
			});
			expect(message).toContain(`Table orders is not this Pipeline's`);
			expect(message).toContain(why);
			for (const way of ["spec.table.name", "adopt: true", "drop the table"])
				expect(message).toContain(way);
			for (const secret of ["rivals", "secret-pipeline", run, otherKey])
				expect(message).not.toContain(secret);
		}
		const isFit = found.incompatibility === undefined;
		const adopt = true;
		if (isFit) {
			expect(use(mark, found, { adopt })).toEqual(asItIs);
			expect(use(mark, found, { adopt, rebuild: true })).toEqual(asItIs);
		} else {
			expect(refusal(mark, found, { adopt }).code).toBe("TableIncompatible");
			expect(use(mark, found, { adopt, rebuild: true }).replaces).toBe(true);
		}
	});

	test.each<[LoadInput["strategy"], Partial<FoundTable>, string]>([
		[
			"Incremental",
			{},
			"With table.adopt: true, Runs would replace all rows of each day that they load, also of days without events, and keep the rows of other days.",
		],
		[
			"FullReload",
			{},
			"With table.adopt: true, each Run would replace all its rows.",
		],
		[
			"Incremental",
			{ incompatibility },
			'With table.adopt: true and table.onIncompatible: Rebuild, a Run would drop it and create it again, because it has no column "date".',
		],
		[
			"Incremental",
			{ otherKind: "VIEW", incompatibility: "it is a VIEW" },
			"it is a VIEW. With table.adopt: true and table.onIncompatible: Rebuild, a Run would drop it and create it again.",
		],
	])(
		"%s: the refusal says what would be replaced",
		(strategy, found, words) => {
			expect(refusal(foreign, found, { strategy }).message).toContain(words);
		},
	);
});

test("an empty table without a mark is used if it fits, as people create tables ahead", () => {
	expect(use(undefined, { isEmpty: true })).toEqual(asItIs);
	const rebuild = true;
	expect(use(undefined, { isEmpty: true }, { rebuild })).toEqual(asItIs);
});

test("the Pipeline's own table with another Source's rows is refused, rebuilt if it may be, and kept if it is adopted", () => {
	for (const mark of [otherSource, { ...otherSource, run: manifest.run }]) {
		expect(refusal(mark).code).toBe("TableIncompatible");
		for (const way of [
			"it holds the events of another Source",
			"spec.sourceRef",
			"drop the table",
			"spec.table.name",
			"spec.table.onIncompatible: Rebuild",
		])
			expect(refusal(mark).message).toContain(way);
		expect(use(mark, {}, { rebuild: true }).replaces).toBe(true);
	}
	expect(use(otherSource, {}, { rebuild: true }).replaces).toBe(true);
	expect(use(otherSource, {}, { adopt: true, rebuild: true })).toEqual(asItIs);
	// It never had an event of that Source.
	expect(use(otherSource, { isEmpty: true })).toEqual(asItIs);
});

test("a Run that slept until a later one had ended is superseded, whatever the later one loads", () => {
	const later = { run: "later", snapshotMs: snapshotMs + 2 };
	expect(refusal({ ...ours, ...later }).message).toContain("Run uid later");
	expect(refusal({ ...otherSource, ...later }).code).toBe("Superseded");
	expect(refusal({ ...foreign, ...later }).code).toBe("TableNotOurs");
	const adopting = refusal({ ...foreign, ...later }, {}, { adopt: true });
	expect(adopting.code).toBe("Superseded");
	expect(adopting.message).not.toContain("uid later");
});

test("no Pipeline has a table with a name of Tidemill's own", () => {
	for (const name of ["_tidemill_loads", "_TIDEMILL", "_tidemill_x"])
		expect(() => requireFreeName(name)).toThrow(
			expect.objectContaining({ code: "TableNotOurs" }),
		);
	for (const name of ["_tide", "tidemill_loads", "my_tidemill", "orders"])
		requireFreeName(name);
});
