import { expect, test } from "vitest";
import { firstSteps, queryOf } from "./first-steps.ts";
import { type Account, roadsOf } from "./health.ts";

const now = Date.parse("2026-11-20T12:00:00Z");
const ready = [{ type: "Ready", status: "True", reason: "Ready", message: "" }];
const notReady = (reason: string) => [
	{ type: "Ready", status: "False", reason, message: "Because." },
];

function account(changes: {
	source?: object;
	pipeline?: object;
	destination?: object;
	run?: object;
}): Account {
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
			nextRunTime: "2026-11-20T13:00:00Z",
			...changes.pipeline,
		}),
		destinations: named({
			name: "warehouse",
			type: "DuckDB",
			conditions: ready,
			...changes.destination,
		}),
		runs: named({
			name: "orders-1",
			pipeline: "orders",
			status: "Succeeded",
			...changes.run,
		}),
	};
}

function findings(changes: Parameters<typeof account>[0]): string[] {
	return roadsOf(account(changes), now).flatMap(({ findings }) =>
		findings.map(({ tone, text, to, action }) =>
			[tone, text, to, action].join(" | "),
		),
	);
}

test("nothing is said of what is all right", () => {
	expect(findings({})).toEqual([]);
});

test.each([
	[
		{ source: { suspend: true } },
		"warning | Suspended: senders get 403. | sources/shop | Open the source",
	],
	[
		{ source: { conditions: notReady("BufferFull") } },
		"bad | BufferFull: Because. | sources/shop/edit | Edit the source",
	],
	[
		{
			source: {
				conditions: [
					...ready,
					{ type: "EventsLost", status: "True", reason: "Lost", message: "7." },
				],
			},
		},
		"bad | Lost: 7. | sources/shop | Open the source",
	],
	[
		{ source: { lastEventTime: undefined } },
		"busy | No event has come yet. | sources/shop | Send one",
	],
	[
		{
			source: {
				counts: { quarantined: 1200 },
				webhook: { trackingPlanRef: { name: "strict" } },
			},
		},
		"warning | 1,200 in quarantine, in 30 days. | tracking-plans/strict | Look at them",
	],
	[
		{ destination: { conditions: notReady("CredentialsRefused") } },
		"bad | CredentialsRefused: Because. | destinations/warehouse/edit | Edit the destination",
	],
	[
		{
			destination: {
				managedBy: "Flux",
				conditions: notReady("CredentialsRefused"),
			},
		},
		"bad | CredentialsRefused: Because. | destinations/warehouse | Open the destination",
	],
	[
		{ pipeline: { suspend: true, nextRunTime: "2026-11-20T11:00:00Z" } },
		"warning | Suspended: no run starts by itself. | pipelines/orders | Open the pipeline",
	],
	[
		{ pipeline: { conditions: notReady("TableTaken") } },
		"bad | TableTaken: Because. | pipelines/orders/edit | Edit the pipeline",
	],
	[
		{
			pipeline: { lastRun: { name: "orders-1", status: "Failed" } },
			run: { status: "Failed", error: { message: "The disk is full." } },
		},
		"bad | The last run failed: The disk is full. | runs/orders-1 | See the run",
	],
	[
		{ pipeline: { nextRunTime: "2026-11-20T11:54:00Z" } },
		"bad | The next run should have begun. | pipelines/orders | Open the pipeline",
	],
	[
		{ run: { unfitValues: [{ rows: 2 }, { rows: 1 }] } },
		"warning | 3 values of the last run didn't fit their columns, and are NULL. | runs/orders-1 | See the run",
	],
])("what is wrong leads to where it is mended: %j", (changes, said) => {
	expect(findings(changes)).toEqual([said]);
});

test("a Run that waits or works is not late", () => {
	expect(
		findings({
			pipeline: { nextRunTime: "2026-11-20T11:00:00Z" },
			run: { status: "Running" },
		}),
	).toEqual([]);
});

test("a Source's own trouble is said once, a Source without a Pipeline is told, and the worst comes first", () => {
	const { sources, pipelines, ...rest } = account({
		source: { suspend: true },
	});
	const lonely = { ...sources.get("shop")!, name: "lonely", suspend: false };
	const second = {
		...pipelines.get("orders")!,
		name: "reports",
		conditions: notReady("TableTaken"),
	};
	const roads = roadsOf(
		{
			sources: new Map([...sources, ["lonely", lonely as never]]),
			pipelines: new Map([...pipelines, ["reports", second as never]]),
			...rest,
		},
		now,
	);
	expect(
		roads.map(({ source, pipeline, findings }) => [
			source?.name,
			pipeline?.name,
			findings.map(({ text }) => text),
		]),
	).toEqual([
		["shop", "reports", ["TableTaken: Because."]],
		["shop", "orders", ["Suspended: senders get 403."]],
		["lonely", undefined, ["No pipeline loads its events."]],
	]);
});

test("the first steps are done by what has happened, and lead on with what is there", () => {
	const none = { sources: new Map(), pipelines: new Map() };
	const done = (steps: ReturnType<typeof firstSteps>) =>
		steps.filter(({ isDone }) => isDone).map(({ name }) => name);
	expect(done(firstSteps({ ...none, destinations: new Map() }))).toEqual([]);
	const all = account({});
	const noPipeline = firstSteps({ ...all, pipelines: new Map() });
	expect(done(noPipeline)).toEqual(["source", "sent", "stored", "destination"]);
	expect(noPipeline.at(-1)).toEqual({
		name: "loaded",
		isDone: false,
		to: "pipelines/new",
		query: { source: "shop", destination: "warehouse" },
	});
	expect(done(firstSteps(all))).toContain("loaded");
	const [one] = all.pipelines.values();
	const two = new Map([...all.pipelines, ["b", one!]]);
	expect(firstSteps({ ...all, pipelines: two })).toEqual([]);
});

test.each([
	["DuckDB", {}, `'select * from "orders" limit 10'`],
	["BigQuery", {}, "'select * from `orders` limit 10'"],
	["Postgres", { table: { perEventType: true } }, `"orders_`],
])("the query of %s names its table", (type, changes, said) => {
	const { pipelines, destinations } = account({ pipeline: changes });
	const destination = { ...destinations.get("warehouse")!, type };
	const query = queryOf(pipelines.get("orders")!, destination as never, "team");
	expect(query).toMatch(
		/^tidemill sql --namespace team --destination warehouse '/,
	);
	expect(query).toContain(said);
});
