import { expect, test } from "vitest";
import type {
	PipelineLastSuccess,
	PipelineStatus,
} from "../../crds/generated/types.ts";
import { pipelineOf } from "../../test/support/examples/resource-examples.ts";
import { adoptedTableOf, mayAdopt } from "./adoption.ts";

const here = { destination: "DuckDB:files/f.duckdb", table: "orders" };
const success = (snapshotTime: string): PipelineLastSuccess => ({
	snapshotTime,
	closedThrough: "2026-03-09",
	layout: {
		sourceKey: "f".repeat(32),
		...here,
		columns: [],
		strategy: "Incremental",
	},
});

function pipelineWith(adopt: boolean | undefined, status: PipelineStatus = {}) {
	const pipeline = pipelineOf();
	if (adopt !== undefined) pipeline.spec.table.adopt = adopt;
	return { ...pipeline, status };
}

test.each<
	[string, boolean | undefined, PipelineStatus["adoptedTable"], boolean]
>([
	["without the field", undefined, undefined, false],
	["with false", false, undefined, false],
	["with true", true, undefined, true],
	["once it is used up", true, here, false],
	["used up for another table", true, { ...here, table: "old" }, true],
	[
		"used up in another warehouse",
		true,
		{ ...here, destination: "DuckDB:files/old.duckdb" },
		true,
	],
])("%s a table may be adopted: %4$j", (_, adopt, adoptedTable, may) => {
	const status = adoptedTable ? { adoptedTable } : {};
	expect(mayAdopt(pipelineWith(adopt, status), here)).toBe(may);
});

test("a success before the field was set doesn't use it up, and the next one does", () => {
	const lastSuccess = success("2026-03-10T10:00:00Z");
	const pipeline = pipelineWith(true, { lastSuccess });
	expect(adoptedTableOf(pipeline, lastSuccess)).toBeUndefined();
	const next = success("2026-03-10T11:00:00Z");
	expect(adoptedTableOf(pipeline, next)).toEqual(here);
	const used = { lastSuccess: next, adoptedTable: here };
	expect(adoptedTableOf(pipelineWith(true, used), next)).toEqual(here);
	expect(adoptedTableOf(pipelineWith(undefined, used), next)).toBeUndefined();
	expect(adoptedTableOf(pipelineWith(true), undefined)).toBeUndefined();
});
