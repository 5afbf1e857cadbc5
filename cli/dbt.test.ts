import { expect, test } from "vitest";
import type { PipelineSchedule } from "../crds/generated/types.ts";
import {
	bigQueryOf,
	destinationOf,
	pipelineOf,
	sourceOf,
} from "../test/support/examples/resource-examples.ts";
import { dbtSources } from "./dbt.ts";

const now = Date.parse("2026-03-10T12:34:00Z");
const namespace = "shop";

function sourcesOf(
	pipelines: ReturnType<typeof pipelineOf>[],
	destinations = [destinationOf()],
) {
	const sources = [sourceOf()];
	return dbtSources({ namespace, pipelines, sources, destinations }, now)
		.sources;
}

test("each table of an event type is one, with the Pipeline's columns and freshness", () => {
	const [typed] = sourcesOf([
		pipelineOf(
			{ table: { ...pipelineOf().spec.table, perEventType: true } },
			{
				status: {
					eventTypeTables: {
						table: "load_orders",
						types: [{ type: "order/paid", table: "load_orders_order_paid" }],
					},
				},
			},
		),
	]);
	const [plain] = sourcesOf([pipelineOf()]);
	const { name: _, description: __, ...same } = plain!.tables[0]!;
	expect(typed!.tables).toEqual([
		{
			...same,
			name: "load_orders_order_paid",
			description:
				"Events of type order/paid of Source orders, loaded by Pipeline load-orders.",
		},
		{
			...same,
			name: "load_orders_other",
			description:
				"Events of other types of Source orders, loaded by Pipeline load-orders.",
		},
	]);
});

test("what strangers have named stands in a description as Markdown and Jinja show it", () => {
	const { table } = pipelineOf().spec;
	const secret = "{{ env_var('MY_TOKEN') }}";
	const [source] = sourcesOf([
		pipelineOf(
			{
				table: {
					...table,
					perEventType: true,
					bodyColumns: [{ name: "secret", bodyPointer: `/${secret}` }],
				},
			},
			{
				status: {
					eventTypeTables: {
						table: "load_orders",
						types: [
							{ type: secret, table: "load_orders_a" },
							{ type: "{% if", table: "load_orders_b" },
							{ type: "<img>", table: "load_orders_c" },
						],
					},
				},
			},
		),
	]);
	const own = "{{ '{' }}";
	const rest = "of Source orders, loaded by Pipeline load-orders.";
	const [first, second, third] = source!.tables;
	expect([first, second, third].map((each) => each!.description)).toEqual([
		`Events of type \`${own}{ env_var('MY_TOKEN') }}\` ${rest}`,
		`Events of type \`${own}% if\` ${rest}`,
		`Events of type \`<img>\` ${rest}`,
	]);
	const { description } = first!.columns.find(({ name }) => name === "secret")!;
	expect(description).toContain(`\`/${own}{ env_var('MY_TOKEN') }}\``);
});

test("an editor's name of a schema is no Jinja either", () => {
	const destination = destinationOf();
	const postgres = {
		...{ host: "db", credentials: { secretRef: { name: "db" } } },
		schema: "{{ env_var('A') }}",
	};
	const [source] = sourcesOf(
		[pipelineOf()],
		[{ ...destination, spec: { type: "Postgres", postgres } }],
	);
	expect(source).toHaveProperty("schema", "{{ '{' }}{ env_var('A') }}");
});

function freshnessOf(schedule: PipelineSchedule, suspend = false) {
	const [source] = sourcesOf([pipelineOf({ schedule, suspend })]);
	const [table] = source!.tables;
	return (table as unknown as { config: { freshness: unknown } }).config
		.freshness;
}

test("each Destination is a source with the tables of its Pipelines", () => {
	const quarantined = pipelineOf(
		{
			destinationRef: { name: "lake" },
			table: {
				name: "paid",
				columns: ["EventID", "Date"],
				onIncompatible: "Fail",
				bodyColumns: [{ name: "id", bodyPointer: "/order/id" }],
				quarantine: true,
				rejectedValues: true,
				latestBy: ["id"],
			},
		},
		{ name: "paid" },
	);
	expect(
		sourcesOf(
			[
				quarantined,
				pipelineOf(),
				pipelineOf({ destinationRef: { name: "x" } }),
			],
			[bigQueryOf(), destinationOf()],
		),
	).toEqual([
		{
			name: "files",
			description:
				"Events that Tidemill loads from webhooks into a DuckDB file: Destination files of namespace shop.",
			loader: "tidemill",
			database: "events",
			schema: "main",
			tables: [
				{
					name: "load_orders",
					description:
						"Events of Source orders, loaded by Pipeline load-orders.",
					columns: [
						{ name: "event_id", description: expect.any(String) },
						{ name: "timestamp", description: expect.any(String) },
						{ name: "body", description: expect.any(String) },
						{ name: "date", description: expect.any(String) },
						{
							name: "header_x_event",
							description: "The header x-event of the request.",
						},
					],
					config: { loaded_at_field: "timestamp", freshness: null },
				},
			],
		},
		expect.objectContaining({
			name: "lake",
			database: "my-project",
			schema: "events",
			tables: [
				expect.objectContaining({
					name: "paid",
					columns: [
						expect.objectContaining({ name: "event_id" }),
						expect.objectContaining({ name: "date" }),
						expect.objectContaining({ name: "id" }),
						expect.objectContaining({ name: "header_x_event" }),
					],
				}),
				expect.objectContaining({
					name: "paid_latest",
					description: "The latest row of table paid for each id: a view.",
				}),
				{
					name: "paid_rejected",
					description:
						"Values that columns of table paid couldn't hold, of Source orders, loaded by Pipeline paid.",
					columns: ["event_id", "date", "column_name", "value", "reason"].map(
						(name) => ({ name, description: expect.any(String) }),
					),
				},
				expect.objectContaining({
					name: "quarantine_paid",
					columns: expect.arrayContaining([
						expect.objectContaining({ name: "violations" }),
					]),
				}),
			],
		}),
	]);
});

test("a table without the column Timestamp has no check of freshness", () => {
	const table = { columns: ["Date" as const], onIncompatible: "Fail" as const };
	const [source] = sourcesOf([pipelineOf({ table })]);
	expect(source!.tables[0]).not.toHaveProperty("config");
});

test.each<[PipelineSchedule, [number, number], string]>([
	[{ type: "Interval", interval: "15m", timeZone: "UTC" }, [30, 1], "minute"],
	[{ type: "Interval", interval: "6h", timeZone: "UTC" }, [12, 1], "hour"],
	[{ type: "Daily", updateTime: "06:30", timeZone: "UTC" }, [2, 4], "day"],
	// From Friday to Monday.
	[{ type: "Cron", cron: "0 6 * * 1-5", timeZone: "UTC" }, [6, 12], "day"],
	// From the 1st of one month to that of the next.
	[{ type: "Cron", cron: "0 6 1 * *", timeZone: "UTC" }, [60, 120], "day"],
])(
	"of %j a table may be two longest waits old",
	(schedule, [warn, error], period) => {
		const after =
			period === "minute" ? { count: error, period: "hour" } : undefined;
		expect(freshnessOf(schedule)).toEqual({
			warn_after: { count: warn, period },
			error_after:
				after ??
				(period === "hour"
					? { count: 1, period: "day" }
					: { count: error, period }),
		});
	},
);

test("a Pipeline that nobody schedules, or that is suspended, has no limit", () => {
	expect(freshnessOf({ type: "Manual", timeZone: "UTC" })).toBeNull();
	const schedule = {
		type: "Interval",
		interval: "1h",
		timeZone: "UTC",
	} as const;
	expect(freshnessOf(schedule, true)).toBeNull();
	expect(freshnessOf(schedule)).not.toBeNull();
});
