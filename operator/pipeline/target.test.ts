import { expect, test } from "vitest";
import { tableNameOf } from "../../crds/table-name.ts";
import type { EventSchema } from "../../packages/contracts/tracking-plan.ts";
import type { Secret } from "../../packages/kube/kinds.ts";
import {
	bigQueryOf,
	destinationOf,
	layout,
	pipelineOf,
	sourceOf,
} from "../../test/support/examples/resource-examples.ts";
import { checkHash } from "../destination/check.ts";
import type { PipelineReferences } from "./state.ts";
import { resolveTarget } from "./target.ts";

const settled: PipelineReferences = {
	pipeline: pipelineOf(),
	source: sourceOf(),
	destination: destinationOf(),
	credentials: [],
	trackingPlan: undefined,
	owner: undefined,
	podPolicy: { labels: [], annotations: [], priorityClasses: [] },
	localWarehouse: undefined,
	clusterDomain: "cluster.local",
	clusterNetworks: [],
};

function reasonOf(changes: Partial<PipelineReferences>): string | undefined {
	const resolved = resolveTarget({ ...settled, ...changes });
	return "problem" in resolved ? resolved.problem.reason : undefined;
}

test("a resolved Pipeline has a table, columns and a destination", () => {
	expect(resolveTarget(settled)).toMatchObject({
		target: {
			strategy: "Incremental",
			tableName: "load_orders",
			access: {
				input: { type: "DuckDB", path: "events.duckdb" },
				volume: { volumeClaimName: "claim" },
			},
			layout,
		},
	});
});

test("a Pipeline into a server can't run from the moment on at which the Secret binds it no more", () => {
	const spec = {
		type: "Postgres",
		postgres: {
			host: "db",
			database: "shop",
			credentials: { secretRef: { name: "app" } },
		},
	} as const;
	const secretWith = (hosts: string): Secret => ({
		metadata: {
			name: "app",
			uid: "s",
			labels: { "tidemill.dev/use": "true" },
			annotations: { "tidemill.dev/hosts": hosts },
		},
		data: { username: "YQ==", password: "YQ==" },
	});
	const bound = [secretWith("postgres://db")];
	const destination = destinationOf();
	destination.spec = spec;
	destination.status!.lastCheck = { hash: checkHash(spec, bound) };
	destination.status!.reached = {
		address: "postgres+verify-full://db:5432",
		secretUIDs: ["s"],
	};
	expect(reasonOf({ destination, credentials: bound })).toBeUndefined();
	for (const hosts of ["", "postgres://other"]) {
		const credentials = [secretWith(hosts)];
		expect(reasonOf({ destination, credentials })).toBe("DestinationNotReady");
	}
});

const schema = { properties: { total: { type: "number" } } };
const plan = {
	eventType: { bodyPointer: "/type" },
	events: [{ type: "order", schema }],
};

function withBodyColumns(
	bodyColumns: NonNullable<
		PipelineReferences["pipeline"]["spec"]["table"]["bodyColumns"]
	>,
	trackingPlanRef?: { name: string },
): Partial<PipelineReferences> {
	const pipeline = pipelineOf();
	pipeline.spec.table = { ...pipeline.spec.table, bodyColumns };
	pipeline.spec.table.columns = ["EventID", "Violations", "Date"];
	const source = sourceOf();
	source.spec.webhook = {
		...source.spec.webhook!,
		capturedHeaders: ["x-event"],
		...(trackingPlanRef && { trackingPlanRef }),
	};
	return { pipeline, source };
}

const total = { name: "total", bodyPointer: "/total" };
const planned = (type: unknown) =>
	({ properties: { total: { type } } }) as EventSchema;

test("columns from the body follow the others, each of its own type or of the one that the plan says", () => {
	const text = { name: "id", bodyPointer: "/id", type: "String" } as const;
	const resolved = resolveTarget({
		...settled,
		...withBodyColumns([text, total], { name: "orders-plan" }),
		trackingPlan: plan,
	});
	if ("problem" in resolved) throw new Error(resolved.problem.message);
	const { columns, layout } = resolved.target;
	expect(columns).toEqual([
		{ name: "event_id", from: "EventID" },
		{ name: "violations", from: "Violations" },
		{ name: "date", from: "Date" },
		{ name: "id", from: { bodyPointer: "/id", type: "String" } },
		{ name: "total", from: { bodyPointer: "/total", type: "Number" } },
		{ name: "header_x_event", from: { header: "x-event" } },
	]);
	// Another type is another layout, so that a mended column is tried again.
	expect(layout.columns).toEqual([
		"event_id",
		"violations",
		"date",
		"id String /id",
		"total Number /total",
		"header_x_event",
	]);
});

test.each([
	["total", "Integer", undefined],
	["header_x_event", "Integer", undefined],
	["total", "JSON", 'spec.table.latestBy has "total", a column of JSON'],
	["total", "Number", 'spec.table.latestBy has "total", a column of Number'],
	["violations", "Integer", "a column of Violations, which is no key."],
	[
		"price",
		"Integer",
		'spec.table.latestBy has "price", which is no column of the table. Its columns are event_id, violations, date, total, header_x_event.',
	],
] as const)(
	"the latest rows may be those for each %s, of %s: %s",
	(key, type, problem) => {
		const references = withBodyColumns([{ ...total, type }]);
		references.pipeline!.spec.table.latestBy = ["event_id", key];
		const resolved = resolveTarget({ ...settled, ...references });
		expect("problem" in resolved && resolved.problem).toEqual(
			problem !== undefined && {
				reason: "TableOptionsInvalid",
				message: expect.stringContaining(problem),
			},
		);
	},
);

test("a decimal has 38 digits, 9 of them after the point, unless the column says otherwise, and another precision or scale is another layout", () => {
	const decimal = { ...total, type: "Decimal" } as const;
	const columnOf = (more: { precision?: number; scale?: number }) => {
		const references = withBodyColumns([{ ...decimal, ...more }]);
		const resolved = resolveTarget({ ...settled, ...references });
		if ("problem" in resolved) throw new Error(resolved.problem.message);
		const { columns, layout } = resolved.target;
		return [columns[3]!.from, layout.columns[3]];
	};
	const from = { bodyPointer: "/total", type: "Decimal" };
	expect(columnOf({})).toEqual([
		{ ...from, precision: 38, scale: 9 },
		"total Decimal(38,9) /total",
	]);
	expect(columnOf({ precision: 10, scale: 0 })).toEqual([
		{ ...from, precision: 10, scale: 0 },
		"total Decimal(10,0) /total",
	]);
});

test("a table of events in quarantine has the same columns and says why they are there", () => {
	const pipeline = pipelineOf();
	pipeline.spec.table = { ...pipeline.spec.table, quarantine: true };
	const quarantineOf = (columns: ("Body" | "Violations")[]) => {
		pipeline.spec.table.columns = columns;
		const resolved = resolveTarget({ ...settled, pipeline });
		if ("problem" in resolved) throw new Error(resolved.problem.message);
		expect(resolved.target.layout.quarantine).toBe(true);
		const { tableName, columns: all } = resolved.target.quarantine!;
		return [tableName, ...all.map(({ name }) => name)];
	};
	expect(quarantineOf(["Body"])).toEqual([
		"quarantine_load_orders",
		"body",
		"header_x_event",
		"violations",
	]);
	expect(quarantineOf(["Violations"])).toEqual([
		"quarantine_load_orders",
		"violations",
		"header_x_event",
	]);
});

test.each<[string, Partial<PipelineReferences>, string, string | undefined]>([
	[
		"while the plan doesn't exist yet",
		withBodyColumns([total], { name: "orders-plan" }),
		'there is no TrackingPlan "orders-plan"',
		"missing",
	],
	[
		"of which the plan says several",
		{
			...withBodyColumns([total], { name: "orders-plan" }),
			trackingPlan: { ...plan, common: planned(["number", "string"]) },
		},
		'TrackingPlan "orders-plan" says that /total is Number or String',
		undefined,
	],
	[
		"while the plan can't be read",
		{
			...withBodyColumns([total], { name: "orders-plan" }),
			trackingPlan: { fault: "It is in no ConfigMap." },
		},
		`TrackingPlan "orders-plan" can't be read: It is in no ConfigMap`,
		undefined,
	],
])(
	"a column without a type %s is a problem that names it",
	(_, changes, why, because) => {
		expect(resolveTarget({ ...settled, ...changes })).toEqual({
			problem: {
				reason: "ColumnTypeUnknown",
				message: `Column "total" of spec.table.bodyColumns has no type, and ${why}. Set its type.`,
				...(because && { because }),
			},
		});
	},
);

test.each<[string, Partial<PipelineReferences>]>([
	["without a plan", withBodyColumns([total])],
	[
		"that the plan doesn't know",
		{
			...withBodyColumns([{ ...total, bodyPointer: "/sum" }], {
				name: "orders-plan",
			}),
			trackingPlan: plan,
		},
	],
])("a column %s is a String", (_, changes) => {
	const resolved = resolveTarget({ ...settled, ...changes });
	if ("problem" in resolved) throw new Error(resolved.problem.message);
	expect(resolved.target.columns[3]!.from).toMatchObject({ type: "String" });
});

test("a column that the table has as a String stays one, whatever a plan says later, but for another table, place or type", () => {
	const typeWith = (
		type: unknown,
		{ spec = {}, column = {}, trackingPlan = {} as object } = {},
	) => {
		const first = resolveTarget({ ...settled, ...withBodyColumns([total]) });
		if ("problem" in first) throw new Error(first.problem.message);
		const references = withBodyColumns([{ ...total, ...column }], {
			name: "orders-plan",
		});
		const pipeline = references.pipeline!;
		pipeline.spec.table = { ...pipeline.spec.table, ...spec };
		const { layout } = first.target;
		pipeline.status = {
			lastSuccess: { snapshotTime: "", closedThrough: "", layout },
		};
		const resolved = resolveTarget({
			...settled,
			...references,
			trackingPlan: { ...plan, common: planned(type), ...trackingPlan },
		});
		if ("problem" in resolved) return resolved.problem.reason;
		const { from } = resolved.target.columns[3]!;
		return (from as { type: string }).type;
	};
	expect(typeWith("number")).toBe("String");
	expect(typeWith(["number", "string"])).toBe("String");
	expect(typeWith("number", { trackingPlan: { fault: "Gone." } })).toBe(
		"String",
	);
	expect(typeWith("number", { spec: { name: "other" } })).toBe("Number");
	expect(typeWith("number", { column: { type: "Integer" } })).toBe("Integer");
	expect(typeWith("number", { column: { name: "sum" } })).toBe("Number");
	expect(typeWith("number", { column: { bodyPointer: "/b/total" } })).toBe(
		"String",
	);
});

test("a Timestamp has its format and zone, and each is another layout; RFC 3339 is the one without", () => {
	const at = { name: "at", bodyPointer: "/at", type: "Timestamp" } as const;
	const target = (column: object) => {
		const resolved = resolveTarget({
			...settled,
			...withBodyColumns([{ ...at, ...column }]),
		});
		if ("problem" in resolved) throw new Error(resolved.problem.message);
		const { columns, layout } = resolved.target;
		return [columns[3]!.from, layout.columns[3]];
	};
	const from = { bodyPointer: "/at", type: "Timestamp" };
	expect(target({})).toEqual([from, "at Timestamp /at"]);
	expect(target({ format: "RFC3339" })).toEqual([from, "at Timestamp /at"]);
	expect(target({ format: "UnixMillis" })).toEqual([
		{ ...from, format: "UnixMillis" },
		"at Timestamp(UnixMillis) /at",
	]);
	const local = { format: "Local", timeZone: "Europe/Berlin" };
	expect(target(local)).toEqual([
		{ ...from, ...local },
		"at Timestamp(Local,Europe/Berlin) /at",
	]);
});

test("a Timestamp's time zone that doesn't exist is a problem of the Pipeline", () => {
	const column = {
		...{ name: "at", bodyPointer: "/at", type: "Timestamp" as const },
		...{ format: "Local" as const, timeZone: "Mars/Phobos" },
	};
	expect(resolveTarget({ ...settled, ...withBodyColumns([column]) })).toEqual({
		problem: {
			reason: "InvalidColumn",
			message:
				'Column "at" of spec.table.bodyColumns has the timeZone "Mars/Phobos". It must be an IANA time zone, such as Europe/Berlin.',
		},
	});
});

test("each captured header is a column, and a Source may capture none", () => {
	const columnsWith = (capturedHeaders?: string[]) => {
		const source = sourceOf();
		const { capturedHeaders: _, ...webhook } = source.spec.webhook!;
		source.spec.webhook = {
			...webhook,
			...(capturedHeaders && { capturedHeaders }),
		};
		const resolved = resolveTarget({ ...settled, source });
		if ("problem" in resolved) throw new Error(resolved.problem.message);
		return resolved.target.columns.slice(4);
	};
	expect(columnsWith()).toEqual([]);
	expect(columnsWith(["x-event", "x-shop-id"])).toEqual([
		{ name: "header_x_event", from: { header: "x-event" } },
		{ name: "header_x_shop_id", from: { header: "x-shop-id" } },
	]);
});

test("each captured query parameter is a column", () => {
	const source = sourceOf();
	source.spec.webhook!.capturedQueryParameters = ["utm_source", "hub.Mode"];
	const resolved = resolveTarget({ ...settled, source });
	if ("problem" in resolved) throw new Error(resolved.problem.message);
	expect(resolved.target.columns.slice(-2)).toEqual([
		{ name: "query_utm_source", from: { header: "?utm_source" } },
		{ name: "query_hub_mode", from: { header: "?hub.Mode" } },
	]);
});

test("without the column Date, each Run loads the whole table", () => {
	const pipeline = pipelineOf({
		table: { columns: ["Body"], onIncompatible: "Fail" },
	});
	expect(resolveTarget({ ...settled, pipeline })).toMatchObject({
		target: { strategy: "FullReload" },
	});
});

const failing = {
	observedGeneration: 1,
	conditions: [
		{
			type: "Ready",
			status: "False",
			reason: "CheckFailed",
			message: "disk full",
			lastTransitionTime: "2026-03-01T00:00:00Z",
		} as const,
	],
};

test.each<[string, Partial<PipelineReferences>, string]>([
	["no Source", { source: undefined }, "SourceNotFound"],
	[
		"a Source without a key",
		{ source: sourceOf("orders", {}) },
		"SourceNotReady",
	],
	["no Destination", { destination: undefined }, "DestinationNotFound"],
	[
		"a Destination that fails its check",
		{ destination: destinationOf("files", "f.duckdb", failing) },
		"DestinationNotReady",
	],
	[
		"a Destination whose check was of an earlier spec",
		{
			destination: {
				...destinationOf(),
				metadata: { ...destinationOf().metadata, generation: 2 },
			},
		},
		"DestinationNotReady",
	],
])("%s is a problem", (_, changes, reason) => {
	expect(reasonOf(changes)).toBe(reason);
});

test("a Pipeline repeats the problem of its Destination", () => {
	const destination = destinationOf("files", "f.duckdb", failing);
	expect(resolveTarget({ ...settled, destination })).toMatchObject({
		problem: { message: expect.stringContaining("(CheckFailed): disk full") },
	});
});

test("a table that another Pipeline has is a conflict", () => {
	const pipeline = pipelineOf({}, { name: "contender" });
	const table = "load_orders_rejected";
	const owner = { pipeline, destination: destinationOf(), table };
	expect(resolveTarget({ ...settled, owner })).toMatchObject({
		problem: {
			reason: "TableConflict",
			message: expect.stringContaining(`Table "${table}" belongs to`),
		},
	});
	const own = { pipeline: pipelineOf(), destination: destinationOf(), table };
	expect(reasonOf({ owner: own })).toBeUndefined();
});

test("in BigQuery, one Run at a time writes to a table", () => {
	expect(
		resolveTarget({ ...settled, destination: bigQueryOf() }),
	).toMatchObject({
		target: {
			access: { input: { type: "BigQuery", dataset: "events" } },
			layout: { destination: "BigQuery:my-project.events.load_orders" },
		},
	});
});

test.each([
	["orders", "", "orders"],
	["load-orders", undefined, "load_orders"],
	["2nd-try", undefined, "_2nd_try"],
	["orders", "Mine", "Mine"],
])("the table of Pipeline %s with name %j is %s", (pipeline, wanted, name) => {
	expect(tableNameOf(pipeline, wanted)).toBe(name);
});

test("a failure of an earlier spec leaves the Pipeline undecided, and one of this spec does not", () => {
	const destination = destinationOf("files", "f.duckdb", failing);
	const becauseAt = (generation: number) => {
		const metadata = { ...destination.metadata, generation };
		const resolved = resolveTarget({
			...settled,
			destination: { ...destination, metadata },
		});
		return "problem" in resolved ? resolved.problem.because : "none";
	};
	expect(becauseAt(1)).toBeUndefined();
	expect(becauseAt(2)).toBe("undecided");
});

const keyOf = (value: string): Secret => ({
	metadata: { name: "google", labels: { "tidemill.dev/use": "true" } },
	data: { k: Buffer.from(value).toString("base64") },
});
const keyed = (verifiedKey: Secret) =>
	bigQueryOf(
		"lake",
		{ credentials: { secretRef: { name: "google", key: "k" } } },
		verifiedKey,
	);

test("a Job gets the very key that was verified", () => {
	const credentials = keyOf("verified");
	const destination = keyed(credentials);
	expect(
		resolveTarget({ ...settled, destination, credentials: [credentials] }),
	).toMatchObject({
		target: { access: { secretFiles: [{ content: credentials.data!.k }] } },
	});
});

test.each<[string, Secret[]]>([
	["is swapped", [keyOf("swapped")]],
	["loses its label", []],
	["is removed from its Secret", [{ ...keyOf(""), data: {} }]],
])(
	"no Job gets a key that %s after the check, though Ready is still True",
	(_, credentials) => {
		const destination = keyed(keyOf("verified"));
		expect(
			resolveTarget({ ...settled, destination, credentials }),
		).toMatchObject({
			problem: { reason: "DestinationNotReady", because: "undecided" },
		});
	},
);

test("a filter that needs a type which nothing says where to find is a problem, and a filter is part of the layout", () => {
	const target = (filter: object, changes: Partial<PipelineReferences> = {}) =>
		resolveTarget({ ...settled, pipeline: pipelineOf({ filter }), ...changes });
	expect(target({ types: ["order"] })).toMatchObject({
		problem: { reason: "EventTypeUnknown" },
	});
	const source = sourceOf();
	source.spec.webhook!.trackingPlanRef = { name: "orders-plan" };
	expect(target({ types: ["order"] }, { source })).toMatchObject({
		problem: { reason: "EventTypeUnknown", because: "missing" },
	});
	const match = { bodyPointer: "/status", equals: "paid" };
	expect(target({ match })).toMatchObject({
		target: { filter: { match }, layout: { filter: expect.any(String) } },
	});
});
