import { expect, test } from "vitest";
import type {
	PipelineBodyColumn,
	PipelineColumn,
	RunColumn,
} from "../../crds/generated/types.ts";
import { inferredColumnsOf } from "../../crds/table-name.ts";
import {
	destinationOf,
	layout,
	pipelineOf,
	runOf,
} from "../../test/support/examples/resource-examples.ts";
import { columnsOf } from "./columns.ts";
import {
	columnsBeside,
	foundColumns,
	inferredColumns,
} from "./inferred-columns.ts";

interface Given {
	known?: PipelineColumn[];
	own?: PipelineBodyColumn[];
	schema?: "Fixed" | "Evolve";
	name?: string;
}

function evolving({
	known = [],
	own = [],
	schema = "Evolve",
	name = "shop",
}: Given = {}) {
	const pipeline = pipelineOf({
		table: { ...pipelineOf().spec.table, name, schema, bodyColumns: own },
	});
	pipeline.status = { inferredColumns: { table: "shop", columns: known } };
	return pipeline;
}

const column = (bodyPointer: string): RunColumn => ({
	bodyPointer,
	type: "String",
});

/** The columns that members have which a Run has found, by name. */
function named(pointers: string[], given: Given = {}): Record<string, string> {
	const run = runOf("run", {
		layout: { ...layout, table: "shop" },
		columns: pointers.map(column),
	});
	const { columns } = inferredColumns(evolving(given), [run])!;
	return Object.fromEntries(
		columns.map(({ name, bodyPointer }) => [name, bodyPointer]),
	);
}

test("a member of a type that only a later version knows has no column, and keeps its name", () => {
	const later = { name: "at", bodyPointer: "/at", type: "Interval" };
	const given = { known: [later] };
	expect(columnsBeside(evolving(given)).columns).toEqual([]);
	expect(named(["/at", "/At"], given)).toMatchObject({ at: "/at" });
});

test("a Run that goes on says which type the table has for a member, the older of two Runs first, and one that has ended says nothing", () => {
	const known = [{ name: "id", bodyPointer: "/id", type: "Integer" }];
	const says = (
		name: string,
		type: "String" | "Number",
		hour: string,
		completionTime?: string,
	) => {
		const run = runOf(name, {
			...(completionTime !== undefined && { completionTime }),
			layout: { ...layout, table: "shop" },
			columns: [{ bodyPointer: "/id", type }],
		});
		run.metadata.creationTimestamp = `2026-03-31T${hour}:00:00Z`;
		return run;
	};
	const typeAfter = (...runs: Parameters<typeof says>[]) =>
		inferredColumns(
			evolving({ known }),
			runs.map((run) => says(...run)),
		)!.columns;
	const typed = (type: string) => [{ ...known[0]!, type }];
	expect(typeAfter(["a", "String", "10"])).toEqual(typed("String"));
	expect(typeAfter(["a", "String", "10", "2026-03-31T11:00:00Z"])).toEqual(
		known,
	);
	expect(typeAfter(["b", "Number", "11"], ["a", "String", "10"])).toEqual(
		typed("String"),
	);
});

test("columns are named by the way to their members, in lower snake case", () => {
	expect(
		named(["/id", "/order/totalPrice", "/Customer.Name", "/a~1b", "/x/0/y"]),
	).toEqual({
		id: "/id",
		order_total_price: "/order/totalPrice",
		customer_name: "/Customer.Name",
		a_b: "/a~1b",
		x_0_y: "/x/0/y",
	});
});

test("a name that a table can't have, or that means something else in it, begins with body_", () => {
	const reserved = [
		...["event_id", "timestamp", "body", "date", "violations", "loaded_at"],
		...["run", "header_x", "query_a", "ctid", "xmin", "1st", "rescued"],
	];
	expect(Object.keys(named(reserved.map((name) => `/${name}`)))).toEqual([
		...["body_event_id", "body_timestamp", "body_body", "body_date"],
		...["body_violations", "body_loaded_at", "body_run", "body_header_x"],
		...["body_query_a", "body_ctid", "body_xmin", "body_1st", "rescued"],
	]);
});

test("every name is one that spec.table.bodyColumns takes, and no two columns have the same, however they come", () => {
	const odd = [
		...["/", "//", "/größe", "/名前", "/__proto__", "/_rescued", "/a b"],
		...["/a-b", "/a_b", "/A/B", `/"; DROP TABLE orders; --`, "/'"],
		...[`/${"x".repeat(199)}`, `/${"x".repeat(198)}y`, "/😀"],
	];
	const names = Object.keys(named(odd));
	expect(new Set(names).size).toBe(odd.length);
	for (const name of names) {
		expect(name).toMatch(/^[a-z][a-z0-9_]*$/);
		expect(name.length).toBeLessThanOrEqual(63);
	}
	expect(names).not.toContain("_rescued");
	// The first has the plain name, and each keeps its own.
	const before = named(["/a-b", "/a b"]);
	expect(before).toMatchObject({ a_b: "/a-b" });
	const known = Object.entries(before).map(([name, bodyPointer]) => ({
		...{ name, bodyPointer, type: "String" as const },
	}));
	expect(named(["/a_b", "/a b"], { known })).toMatchObject(before);
});

test("columns of the spec come first: their members and names are taken", () => {
	const own = [{ name: "id", bodyPointer: "/order/id" }];
	expect(named(["/order/id", "/id"], { own })).toEqual({
		[expectedDigest("id", own)]: "/id",
	});
	// A name that the spec has taken since goes to it, and the member gets another.
	const known = [{ name: "id", bodyPointer: "/id", type: "Integer" as const }];
	const after = named(["/id"], { own, known });
	expect(Object.values(after)).toEqual(["/id"]);
	expect(after).not.toHaveProperty("id");
	// One that was frozen stays as it is.
	const frozen = [{ ...known[0]! }];
	expect(named([], { own: frozen, known })).toEqual({ id: "/id" });
	expect(columnsBeside(evolving({ own: frozen, known })).columns).toEqual([]);
});

function expectedDigest(name: string, own: PipelineBodyColumn[]): string {
	const [found] = Object.keys(named([`/${name}`], { own }));
	expect(found).toMatch(new RegExp(`^${name}_[0-9a-f]{8}$`));
	return found!;
}

test("at most 500 members have columns, those of the spec among them, and no more than a status has room for", () => {
	const pointers = Array.from(
		{ length: 600 },
		(_, index) => `/order/customer/member${index}`,
	);
	const own = [{ name: "own", bodyPointer: "/own" }];
	expect(Object.keys(named(pointers, { own })).length).toBe(499);
	const long = pointers.map((pointer) => `${pointer}${"名".repeat(190)}`);
	const columns = Object.values(named(long));
	expect(columns.length).toBeGreaterThan(100);
	expect(Buffer.byteLength(JSON.stringify(columns))).toBeLessThan(131_072);
	expect(columns.length).toBeLessThan(500);
});

test("what the spec takes for itself later leaves less room, and the columns that were found first stay", () => {
	const known = Array.from({ length: 500 }, (_, index) => ({
		...{ name: `m${index}`, bodyPointer: `/m${index}` },
		type: "String" as const,
	}));
	const all = columnsBeside(evolving({ known }));
	expect(all.columns).toEqual(known);
	expect(all.room.columns).toBe(0);
	const own = [{ name: "own", bodyPointer: "/own" }];
	const { columns, room } = columnsBeside(evolving({ known, own }));
	expect(columns).toEqual(known.slice(0, 499));
	expect(room.columns).toBe(0);
	// One that is frozen counts once.
	const frozen = columnsBeside(
		evolving({ known: known.slice(0, 60), own: known.slice(0, 60) }),
	);
	expect(frozen.room.columns).toBe(440);
	// A type of warehouse that holds fewer has those that were found first.
	const fewer = columnsBeside(evolving({ known, own }), 300);
	expect(fewer.columns).toEqual(known.slice(0, 299));
	expect(fewer.room.columns).toBe(0);
});

test("a table has no more columns from bodies than its warehouse holds", () => {
	const own = Array.from({ length: 301 }, (_, index) => ({
		...{ name: `own${index}`, bodyPointer: `/own${index}` },
		type: "String" as const,
	}));
	const columnsIn = (type: string, bodyColumns: typeof own) => {
		const destination = destinationOf();
		destination.spec = { ...destination.spec, type: type as "Postgres" };
		return columnsOf({
			pipeline: evolving({ own: bodyColumns }),
			...{ source: undefined, destination, trackingPlan: undefined },
		});
	};
	expect(columnsIn("DuckDB", own)).toMatchObject({ room: { columns: 199 } });
	expect(columnsIn("Postgres", own.slice(1))).toMatchObject({
		room: { columns: 0 },
	});
	expect(columnsIn("Postgres", own)).toEqual({
		reason: "InvalidColumn",
		problem:
			"spec.table.bodyColumns has 301 columns, and a table of a Postgres database has at most 300 from bodies. Remove 1, or change spec.destinationRef.name.",
	});
});

test("another table begins anew, and what was turned off may be turned on again", () => {
	const known = [{ name: "id", bodyPointer: "/id", type: "Integer" as const }];
	expect(named(["/b"], { known, name: "other" })).toEqual({});
	expect(inferredColumnsOf(evolving({ known, name: "other" }))).toEqual([]);
	const off = evolving({ known, schema: "Fixed" });
	expect(inferredColumns(off, [])?.columns).toEqual(known);
	expect(inferredColumnsOf(off)).toEqual([]);
});

test("of what a Job says only what a status can hold counts", () => {
	expect(
		foundColumns({
			...{ code: "ColumnsFound", message: "", retryable: false },
			columns: {
				"/a": "String",
				a: "String",
				"/~": "String",
				[`/${"x".repeat(200)}`]: "String",
				"/b": "Blob" as "String",
			},
		}),
	).toEqual([{ bodyPointer: "/a", type: "String" }]);
});
