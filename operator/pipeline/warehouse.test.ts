import { expect, test } from "vitest";
import type { Destination } from "../../crds/generated/types.ts";
import type { TableColumn } from "../../packages/contracts/job.ts";
import {
	bigQueryOf,
	destinationOf,
	pipelineOf,
} from "../../test/support/examples/resource-examples.ts";
import { tableOptionsProblem } from "./warehouse.ts";

const columns: TableColumn[] = [
	{ name: "event_id", from: "EventID" },
	{ name: "date", from: "Date" },
	{ name: "total", from: { bodyPointer: "/total", type: "Number" } },
	{ name: "header_x_shop", from: { header: "x-shop" } },
];

function problemOf(
	clusterBy: string[] | undefined,
	destination: Destination = bigQueryOf(),
	bodyType?: "JSON",
	more: TableColumn[] = [],
): string | undefined {
	const pipeline = pipelineOf();
	if (clusterBy)
		pipeline.spec.table.bigQuery = { clusterBy, ...(bodyType && { bodyType }) };
	return tableOptionsProblem(pipeline, destination, [...columns, ...more]);
}

test("a table is clustered by any of its columns that BigQuery can sort by", () => {
	expect(problemOf(["header_x_shop", "event_id"])).toBeUndefined();
	expect(problemOf(["body"])).toBe(
		'spec.table.bigQuery.clusterBy has "body", which is no column of the table. Its columns are event_id, date, total, header_x_shop.',
	);
	expect(problemOf(["event_id", "total"])).toBe(
		'spec.table.bigQuery.clusterBy has "total", a column of type Number, by which BigQuery can\'t sort. Remove it, or load the value as Integer or String.',
	);
});

test("a body of JSON needs a body, and no table is clustered by it", () => {
	const body: TableColumn = { name: "body", from: "Body" };
	const problem = (clusterBy: string[], more: TableColumn[]) =>
		problemOf(clusterBy, undefined, "JSON", more);
	expect(problem(["event_id"], [body])).toBeUndefined();
	expect(problem(["event_id"], [])).toBe(
		'spec.table.bigQuery.bodyType is "JSON", but the table has no column Body. Add Body to spec.table.columns, or remove bodyType.',
	);
	expect(problem(["body"], [body])).toBe(
		'spec.table.bigQuery.clusterBy has "body", a column of type JSON, by which BigQuery can\'t sort. Remove it.',
	);
});

test("options of BigQuery are refused for a DuckDB file", () => {
	expect(problemOf(undefined, destinationOf())).toBeUndefined();
	expect(problemOf(["event_id"], destinationOf())).toBe(
		'Destination "files" is of type DuckDB. Remove spec.table.bigQuery, or change spec.destinationRef.name.',
	);
});
