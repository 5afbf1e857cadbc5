import { expect, test } from "vitest";
import type {
	PipelineLastSuccess,
	PipelineStatus,
} from "../../crds/generated/types.ts";
import { pipelineOf } from "../../test/support/examples/resource-examples.ts";
import { adoptedTableOf, mayAdopt } from "./table-owners.ts";

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

const old = { ...here, table: "old" };
const elsewhere = { ...here, destination: "DuckDB:files/old.duckdb" };

test.each<
	[boolean, string, boolean | undefined, PipelineStatus["adoptedTable"]]
>([
	[false, "without the field", undefined, undefined],
	[false, "with false", false, undefined],
	[true, "with true", true, undefined],
	[false, "once it is used up", true, here],
	[true, "used up for another table", true, old],
	[true, "used up in another warehouse", true, elsewhere],
])("it is %j that a table may be adopted %s", (may, _, adopt, adoptedTable) => {
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
