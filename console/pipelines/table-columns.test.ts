import { expect, test } from "vitest";
import { parse } from "yaml";
import { withField } from "../resource/draft.ts";
import {
	newPipeline,
	withBodyColumns,
	withEvolve,
	withLatestBy,
} from "./form.ts";
import {
	followedColumns,
	frozenColumnsYaml,
	keyChoices,
	tableColumns,
	tableFieldProblem,
	withFrozenColumns,
} from "./table-columns.ts";

const own = [
	{ name: "order_id", bodyPointer: "/order/id", type: "String" },
	{
		name: "total",
		bodyPointer: "/total",
		type: "Decimal",
		precision: 18,
		scale: 2,
	},
] as const;
const evolving = withEvolve(
	withBodyColumns({ ...newPipeline("shop", "warehouse"), name: "orders" }, own),
	true,
);
const inferred = {
	table: "orders",
	columns: [
		{ name: "body_total", bodyPointer: "/total", type: "Number" },
		{ name: "note", bodyPointer: "/note", type: "String" },
		{ name: "later", bodyPointer: "/later", type: "Geography" },
		{ name: "lines", bodyPointer: "/lines", type: "JSON" },
	],
};
const note = { name: "note", bodyPointer: "/note", type: "String" };
const lines = { name: "lines", bodyPointer: "/lines", type: "JSON" };

test("columns that events have brought are those of the table's name of today, beside the draft's own", () => {
	expect(followedColumns(evolving, inferred)).toEqual([note, lines]);
	const renamed = withField(evolving, "table.name", "other");
	expect(followedColumns(renamed, inferred)).toEqual([]);
	expect(followedColumns(withEvolve(evolving, false), inferred)).toEqual([]);
	expect(followedColumns(evolving, undefined)).toEqual([]);
});

test("frozen, they stand behind the draft's own, and no more come", () => {
	const frozen = withFrozenColumns(evolving, inferred);
	expect(frozen.spec.table).toEqual({
		columns: ["EventID", "Timestamp", "Body", "Date"],
		bodyColumns: [...own, note, lines],
	});
	expect(parse(frozenColumnsYaml(evolving, inferred))).toEqual({
		spec: { table: { schema: "Fixed", bodyColumns: [...own, note, lines] } },
	});
});

test("a key is made of columns that tell objects apart, and what was named otherwise is said to be none", () => {
	const captured = {
		capturedHeaders: ["x-shop"],
		capturedQueryParameters: ["v.1"],
	};
	const named = ["note", "event_id", "lines", "gone"].reduce(
		(draft, name) => withLatestBy(draft, name, true),
		evolving,
	);
	const columns = tableColumns(
		named,
		captured,
		followedColumns(named, inferred),
	);
	const choices = keyChoices(named, columns).map(
		({ name, type, isTicked, problem }) => [
			...[name, type, isTicked, problem !== undefined],
		],
	);
	expect(choices).toEqual([
		["date", "Date", false, false],
		["order_id", "String", false, false],
		["total", "Decimal", false, false],
		["note", "String", true, false],
		["header_x_shop", "String", false, false],
		["query_v_1", "String", false, false],
		["event_id", "String", true, false],
		["lines", "JSON", true, true],
		["gone", "", true, true],
	]);
});

test("a warehouse's own word stands at its field, and another warehouse's field is named", () => {
	const path = "table.postgres.bodyType";
	const draft = withField(evolving, path, "jsonb");
	const problem = (type: string | undefined, without?: string) =>
		tableFieldProblem(
			draft,
			path,
			type,
			tableColumns(draft).filter(({ from }) => from !== without),
		);
	expect(problem("Postgres")).toBeUndefined();
	expect(problem(undefined)).toBeUndefined();
	expect(problem("Postgres", "Body")).toContain("no column Body");
	expect(problem("DuckDB")).toContain("of type DuckDB");
	expect(tableFieldProblem(evolving, path, "DuckDB", [])).toBeUndefined();
	const days = "table.bigQuery.partitionExpirationDays";
	const kept = withField(evolving, days, 90);
	const ofDays = (columns: ReturnType<typeof tableColumns>) =>
		tableFieldProblem(kept, days, "BigQuery", columns);
	expect(ofDays(tableColumns(kept))).toBeUndefined();
	expect(ofDays([])).toContain("no column Date");
});
