import { expect, test } from "vitest";
import { firstSteps, queryOf } from "./first-steps.ts";
import { roadsOf, type SeenAccount } from "./health.ts";

const ready = [{ type: "Ready", status: "True", reason: "Ready", message: "" }];
const condition = (type: string, status: string, reason: string) => ({
	type,
	status,
	reason,
	message: "Because.",
});
const notReady = (reason: string) => [condition("Ready", "False", reason)];

/** A Source, its Pipeline and its Destination, which are all right but for the changes. */
function account(
	changes: { source?: object; pipeline?: object; destination?: object } = {},
	can: SeenAccount["can"] = () => true,
): Required<SeenAccount> & { pipelines: object; destinations: object } {
	const named = <Kind>(object: { name: string; [field: string]: unknown }) =>
		new Map([[object.name, object as Kind]]);
	return {
		sources: named({
			name: "shop",
			conditions: ready,
			lastEventTime: "2026-11-20T11:59:00Z",
			counts: { archived: 3 },
			...changes.source,
		}),
		pipelines: named({
			name: "orders",
			sourceRef: { name: "shop" },
			destinationRef: { name: "warehouse" },
			tableName: "orders",
			conditions: ready,
			lastRun: { name: "orders-1", status: "Succeeded", rows: 3 },
			lastSuccess: {},
			...changes.pipeline,
		}),
		destinations: named({
			name: "warehouse",
			type: "DuckDB",
			conditions: ready,
			...changes.destination,
		}),
		can,
	};
}

function findings(...args: Parameters<typeof account>): string[] {
	return roadsOf(account(...args)).flatMap(({ findings }) =>
		findings.map(({ tone, text, to, action }) =>
			[tone, text, to, action].join(" | "),
		),
	);
}

test("nothing is said of what is all right", () => {
	expect(findings()).toEqual([]);
});

test.each<[Parameters<typeof account>[0], string]>([
	[
		{ source: { suspend: true, conditions: notReady("Suspended") } },
		"warning | Suspended: senders get 403. | sources/shop | Open the source",
	],
	[
		{ source: { conditions: notReady("BufferFull") } },
		"bad | BufferFull: Because. | sources/shop/edit | Edit the source",
	],
	...["EventsLost", "ArchiveLags", "BufferFills"].map(
		(type): [object, string] => [
			{ source: { conditions: [...ready, condition(type, "True", "Why")] } },
			"bad | Why: Because. | sources/shop | Open the source",
		],
	),
	[
		{
			source: {
				conditions: [
					...ready,
					condition("PlanCurrent", "False", "PlanInvalid"),
				],
			},
		},
		"bad | PlanInvalid: Because. | sources/shop | Open the source",
	],
	[
		{
			source: {
				conditions: [...ready, condition("Receiving", "False", "Quiet")],
			},
		},
		"warning | Quiet: Because. | sources/shop | Open the source",
	],
	[
		{ source: { lastEventTime: undefined } },
		"busy | No event has come yet. | sources/shop | Open the source",
	],
	[
		{
			source: {
				counts: { quarantined: 1200 },
				webhook: { trackingPlanRef: { name: "strict" } },
			},
		},
		"warning | Events in quarantine in the last 30 days: 1,200. | tracking-plans/strict | Look at them",
	],
	[
		{ destination: { conditions: notReady("CheckFailed") } },
		"bad | CheckFailed: Because. | destinations/warehouse/edit | Edit the destination",
	],
	[
		{ destination: { managedBy: "Flux", conditions: notReady("CheckFailed") } },
		"bad | CheckFailed: Because. | destinations/warehouse | Open the destination",
	],
	[
		{
			destination: { conditions: [condition("Ready", "Unknown", "Checking")] },
		},
		"busy | Checking: Because. | destinations/warehouse | Open the destination",
	],
	[
		{ destination: { conditions: [] } },
		"busy | The operator hasn't looked at it yet. | destinations/warehouse | Open the destination",
	],
	[
		{ pipeline: { suspend: true } },
		"warning | Suspended: no run starts by itself. | pipelines/orders | Open the pipeline",
	],
	[
		{ pipeline: { conditions: notReady("TableConflict") } },
		"bad | TableConflict: Because. | pipelines/orders/edit | Edit the pipeline",
	],
	[
		{
			pipeline: {
				conditions: [...ready, condition("RunSucceeded", "False", "Failed")],
			},
		},
		"bad | Failed: Because. | runs/orders-1 | See the run",
	],
	[
		{
			pipeline: {
				conditions: [...ready, condition("RunSucceeded", "False", "Cancelled")],
			},
		},
		"warning | Cancelled: Because. | runs/orders-1 | See the run",
	],
	[
		{
			pipeline: {
				conditions: [...ready, condition("RunOnTime", "False", "Late")],
			},
		},
		"bad | Late: Because. | pipelines/orders | Open the pipeline",
	],
	[
		{
			pipeline: {
				conditions: [...ready, condition("ValuesFit", "False", "Unfit")],
			},
		},
		"warning | Unfit: Because. | runs/orders-1 | See the run",
	],
])("what is wrong leads to where it is mended: %j", (changes, said) => {
	expect(findings(changes)).toEqual([said]);
});

test("what a Destination lacks is said once, and leads to it", () => {
	const changes = {
		destination: { conditions: notReady("CheckFailed") },
		pipeline: { conditions: notReady("DestinationNotReady") },
	};
	expect(findings(changes)).toEqual([
		"bad | CheckFailed: Because. | destinations/warehouse/edit | Edit the destination",
	]);
});

test("who may not change something is led to its page, and who may not list a kind is told nothing of it", () => {
	const nothing = () => false;
	expect(
		findings({ source: { conditions: notReady("BufferFull") } }, nothing),
	).toEqual(["bad | BufferFull: Because. | sources/shop | Open the source"]);
	const all = account({}, nothing);
	const said = (more: object) =>
		roadsOf({ ...all, ...more }).flatMap(({ findings }) => findings);
	expect(said({ pipelines: new Map() })).toMatchObject([
		{ text: "No pipeline loads its events.", to: "sources/shop" },
	]);
	expect(said({ pipelines: undefined })).toEqual([]);
	expect(firstSteps({ ...all, pipelines: new Map() })).toEqual([]);
	expect(firstSteps({ ...account(), pipelines: undefined })).toEqual([]);
});

test("a Source's own trouble is said in full once, a Source without a Pipeline is told, and the worst comes first", () => {
	const { sources, pipelines, ...rest } = account({
		source: { suspend: true },
	});
	const lonely = { ...sources.get("shop")!, name: "lonely", suspend: false };
	const second = {
		...pipelines!.get("orders")!,
		name: "reports",
		conditions: notReady("TableConflict"),
	};
	const roads = roadsOf({
		...rest,
		sources: new Map([...sources, ["lonely", lonely as never]]),
		pipelines: new Map([...pipelines!, ["reports", second as never]]),
	});
	expect(
		roads.map(({ source, pipeline, findings }) => [
			source?.name,
			pipeline?.name,
			findings.map(({ text }) => text),
		]),
	).toEqual([
		[
			...["shop", "reports"],
			["TableConflict: Because.", "Its source has trouble, too."],
		],
		["shop", "orders", ["Suspended: senders get 403."]],
		["lonely", undefined, ["No pipeline loads its events."]],
	]);
});

test("the first steps are done by what has happened, stay done, and lead on with what is there", () => {
	const all = account();
	const none = new Map();
	const done = (changes: Partial<SeenAccount>) =>
		firstSteps({ ...all, ...changes })
			.filter(({ isDone }) => isDone)
			.map(({ name }) => name);
	expect(done({ sources: none, pipelines: none, destinations: none })).toEqual(
		[],
	);
	expect(done({ pipelines: none })).toEqual([
		...["source", "sent", "stored", "destination"],
	]);
	expect(firstSteps({ ...all, pipelines: none }).at(-1)).toEqual({
		name: "loaded",
		isDone: false,
		to: "pipelines/new",
		query: { source: "shop", destination: "warehouse" },
	});
	const later = { lastRun: { name: "orders-2", status: "Failed" } };
	expect(done(account({ pipeline: later }))).toContain("loaded");
	const [one] = all.pipelines!.values();
	const two = new Map([...all.pipelines!, ["b", one!]]);
	expect(firstSteps({ ...all, pipelines: two })).toEqual([]);
});

test.each([
	["DuckDB", {}, `'select * from "orders" limit 10'`],
	["BigQuery", {}, "'select * from `orders` limit 10'"],
	[
		"Postgres",
		{
			table: { perEventType: true },
			eventTypeTables: { types: [{ type: "paid", table: "orders_paid" }] },
		},
		`'select * from "orders_paid" limit 10'`,
	],
	[
		"Postgres",
		{ table: { perEventType: true } },
		`'select * from "orders_other" limit 10'`,
	],
])("the query of %s names its table: %j", (type, changes, query) => {
	const { pipelines, destinations } = account({ pipeline: changes });
	const destination = { ...destinations!.get("warehouse")!, type };
	expect(queryOf(pipelines!.get("orders")!, destination as never, "team")).toBe(
		`tidemill sql --namespace team --destination warehouse ${query}`,
	);
});
