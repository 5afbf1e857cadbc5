import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { warehouses } from "../../packages/warehouses/registry.ts";
import { type Draft, numberOf, valueAt, withField } from "../resource/draft.ts";
import { otherFields, schemaAt, textOfValue } from "../resource/field-text.ts";
import { previewTable } from "./columns.ts";
import {
	clashOf,
	eventTypes,
	generatedTable,
	integrationName,
	latestBy,
	newPipeline,
	resourceName,
	strategyOf,
	tableFields,
	tableFieldsOf,
	tickedColumns,
	tickedTypes,
	toldTypes,
	typePlace,
	withColumn,
	withEventTypes,
	withEvolve,
	withIntegrationName,
	withLatestBy,
	withMatch,
	withPerEventType,
	withToldType,
	withType,
} from "./form.ts";
import {
	scheduleOf,
	scheduleOutlook,
	scheduleType,
	withScheduleType,
} from "./schedule.ts";
import {
	followedColumns,
	keyChoices,
	tableColumns,
	withFrozenColumns,
} from "./table-columns.ts";

const crd = parse(
	readFileSync(
		join(
			import.meta.dirname,
			"../../charts/tidemill/files/crds/pipelines.yaml",
		),
		"utf8",
	),
).spec.versions[0].schema.openAPIV3Schema.properties.spec;

test.each([
	["Orders, every morning", "orders-every-morning"],
	["Bestellungen für Köln", "bestellungen-fur-koln"],
	["--a..b--", "a-b"],
	[`${"x".repeat(39)} y`, "x".repeat(39)],
	["注文", ""],
])("%s is the resource %s", (text, name) => {
	expect(resourceName(text)).toBe(name);
});

test("the resource's name follows what people type, until it is there or chosen", () => {
	const typed = withIntegrationName(newPipeline(), "Orders, all", true);
	expect(typed).toMatchObject({
		name: "orders-all",
		spec: { displayName: "Orders, all" },
	});
	expect(integrationName(typed)).toBe("Orders, all");
	const plain = withIntegrationName(typed, "orders", true);
	expect(plain.name).toBe("orders");
	expect(plain.spec).not.toHaveProperty("displayName");
	const chosen = withIntegrationName({ ...typed, name: "mine" }, "Other", true);
	expect(chosen).toMatchObject({
		name: "mine",
		spec: { displayName: "Other" },
	});
	expect(withIntegrationName(typed, "Renamed", false).name).toBe("orders-all");
});

test("event types are a line each, as they are typed, and none is no filter", () => {
	const typed = withEventTypes(newPipeline(), "push\nissue_comment\n");
	expect(typed.spec).toMatchObject({
		filter: { types: ["push", "issue_comment", ""] },
	});
	expect(eventTypes(typed)).toBe("push\nissue_comment\n");
	expect(withEventTypes(typed, "").spec).not.toHaveProperty("filter");
	const place = { header: "x-github-event" };
	const placed = withField(typed, "filter.eventType", place);
	expect(withEventTypes(placed, "").spec).not.toHaveProperty("filter");
	expect(withEventTypes(newPipeline(), "push", place).spec).toMatchObject({
		filter: { types: ["push"], eventType: place },
	});
	const match = { bodyPointer: "/a", equals: "b" };
	const others = withField(typed, "filter.match", match);
	expect(withEventTypes(others, "").spec).toMatchObject({ filter: { match } });
});

test("what only goes with a table for each event type leaves with it", () => {
	const isOn = withPerEventType(newPipeline(), true);
	expect(isOn.spec).toMatchObject({ table: { perEventType: true } });
	const more = withField(isOn, "table.maxEventTypes", 3);
	expect(withPerEventType(more, false)).toEqual(newPipeline());
});

test("where an event's type is has one place, or none of its own", () => {
	const at = (place: unknown) =>
		typePlace(
			withField(newPipeline(), "filter.eventType", place),
			"filter.eventType",
		);
	expect(
		[undefined, "odd", { header: "" }, { bodyPointer: "/a", header: "b" }].map(
			at,
		),
	).toEqual(["", "", "header", "bodyPointer"]);
});

test("what the API refuses of fields together is said of the field that came second", () => {
	const refused = (draft: Draft) =>
		["table.schema", "table.perEventType", "table.latestBy"].map(
			(path) => clashOf(draft, path) !== undefined,
		);
	const draft = newPipeline();
	expect(refused(draft)).toEqual([false, false, false]);
	expect(refused(withPerEventType(draft, true))).toEqual([true, false, true]);
	expect(refused(withEvolve(draft, true))).toEqual([false, true, false]);
	expect(refused(withLatestBy(draft, "id", true))).toEqual([
		...[false, true, false],
	]);
	for (const column of ["Timestamp", "EventID"] as const)
		expect(refused(withColumn(draft, column, false))).toEqual([
			...[false, false, true],
		]);
	const filtered = withField(
		draft,
		"table.bigQuery.requirePartitionFilter",
		true,
	);
	expect(refused(filtered)).toEqual([false, false, true]);
});

test("the key of the latest rows keeps its order, and an empty one is none", () => {
	const one = withLatestBy(newPipeline(), "b", true);
	const two = withLatestBy(one, "a", true);
	expect(latestBy(two)).toEqual(["b", "a"]);
	expect(latestBy(withField(two, "table.latestBy", [1, "b", "b"]))).toEqual([
		"b",
	]);
	const none = withLatestBy(withLatestBy(two, "b", false), "a", false);
	expect(none).toEqual(newPipeline());
});

test("each field that a warehouse has for the table is one of the CRD's, and one of another warehouse is shown while it is set", () => {
	for (const type of warehouses.keys())
		for (const [path, { label }] of tableFieldsOf(type)) {
			expect(schemaAt(crd, path), path).toHaveProperty("type");
			expect(label, path).toBeTruthy();
		}
	const paths = (draft: Draft, type: string | undefined) =>
		tableFields(draft, type).map(([path]) => path);
	const draft = withField(newPipeline(), "table.postgres.bodyType", "jsonb");
	expect(paths(draft, "DuckDB")).toEqual(["table.postgres.bodyType"]);
	expect(paths(newPipeline(), "Postgres")).toEqual(["table.postgres.bodyType"]);
	expect(paths(newPipeline(), undefined)).toEqual([]);
});

test("the generated table is that of the operator", () => {
	expect(generatedTable({ name: "2-orders", spec: {} })).toBe("_2_orders");
});

test("ticked columns keep their order, and Date decides the strategy", () => {
	const draft = newPipeline();
	const without = withColumn(draft, "Date", false);
	expect(tickedColumns(without)).toEqual(["EventID", "Timestamp", "Body"]);
	expect([strategyOf(draft), strategyOf(without)]).toEqual([
		"Incremental",
		"FullReload",
	]);
	expect(tickedColumns(withColumn(without, "Date", true))).toEqual(
		tickedColumns(draft),
	);
	const own = withField(draft, "table.columns", ["Date", "EventID"]);
	expect(tickedColumns(withColumn(own, "Violations", true))).toEqual([
		"Date",
		"EventID",
		"Violations",
	]);
});

test("another type of schedule has what it needs and nothing of the one before", () => {
	const zone = withField(newPipeline(), "schedule.timeZone", "Europe/Berlin");
	const cron = withScheduleType(zone, "Cron");
	expect(cron.spec.schedule).toEqual({
		type: "Cron",
		cron: "0 6 * * 1-5",
		timeZone: "Europe/Berlin",
	});
	expect(withScheduleType(cron, "Interval").spec.schedule).toEqual({
		type: "Interval",
		interval: "1h",
	});
	expect(withScheduleType(cron, "Manual").spec.schedule).toEqual({
		type: "Manual",
	});
});

test("a value that events must have needs its place, and is gone once both fields are empty", () => {
	const place = withMatch(newPipeline(), "bodyPointer", "/status");
	const match = { bodyPointer: "/status", equals: "" };
	expect(place.spec).toMatchObject({ filter: { match } });
	const both = withMatch(place, "equals", "paid");
	expect(both.spec).toMatchObject({ filter: { match: { equals: "paid" } } });
	const value = withMatch(both, "bodyPointer", "");
	expect(value.spec).toMatchObject({
		filter: { match: { bodyPointer: "", equals: "paid" } },
	});
	expect(withMatch(value, "equals", "")).toEqual(newPipeline());
});

test("what is told is everything without the field, and nothing by an empty list", () => {
	const { items } = crd.properties.notify.properties.types;
	expect(toldTypes).toEqual(items.enum);
	const draft = newPipeline();
	expect(tickedTypes(draft)).toEqual(toldTypes);
	const one = withToldType(draft, "RunLate", false);
	expect(valueAt(one.spec, "notify.types")).toEqual(
		toldTypes.filter((type) => type !== "RunLate"),
	);
	expect(withToldType(one, "RunLate", true)).toEqual(draft);
	const none = toldTypes.reduce(
		(left, type) => withToldType(left, type, false),
		draft,
	);
	expect(none.spec).toMatchObject({ notify: { types: [] } });
	expect(tickedTypes(none)).toEqual([]);
});

test("another type of column leaves out what was for the one before", () => {
	const column = {
		name: "paid",
		bodyPointer: "/paid",
		type: "Decimal" as const,
		precision: 18,
		scale: 2,
	};
	expect(withType(column, "Timestamp")).toEqual({
		name: "paid",
		bodyPointer: "/paid",
		type: "Timestamp",
	});
	expect(withType(column, "")).toEqual({ name: "paid", bodyPointer: "/paid" });
});

test("whatever somebody pastes as a spec, the form shows something", () => {
	const event = { eventId: "e", time: "2026-11-01T00:00:00Z", body: "{}" };
	const field = fc.constantFrom(
		...["table", "columns", "bodyColumns", "name", "bodyPointer", "type"],
		...["schedule", "cron", "interval", "timeZone", "sourceRef", "dateRange"],
		...["schema", "latestBy", "filter", "eventType", "postgres", "bodyType"],
		...["notify", "types", "secretRefs", "match", "onIncompatible"],
	);
	const value = fc.letrec((tie) => ({
		any: fc.oneof(
			{ maxDepth: 4 },
			fc.constantFrom("Cron", "Daily", "Interval", "String", "/a", "Date"),
			fc.jsonValue({ maxDepth: 1 }),
			fc.array(tie("any"), { maxLength: 3 }),
			fc.dictionary(field, tie("any")),
		),
	})).any;
	fc.assert(
		fc.property(fc.dictionary(field, value), (spec) => {
			const draft = { name: "a", spec };
			integrationName(draft);
			previewTable(draft, [event]);
			scheduleOutlook(scheduleOf(draft), 0);
			typePlace(draft, "filter.eventType");
			withMatch(draft, "equals", "paid");
			tickedTypes(withToldType(draft, "RunLate", false));
			for (const { path, schema } of otherFields(crd, spec, []))
				textOfValue(schema, valueAt(spec, path));
			for (const path of ["table.schema", "table.latestBy"])
				clashOf(draft, path);
			const inferred = { table: "a", columns: [] };
			const followed = followedColumns(draft, inferred);
			keyChoices(draft, tableColumns(draft, {}, followed));
			withFrozenColumns(withEvolve(draft, true), inferred);
			for (const column of ["Date", "Body"] as const)
				tickedColumns(withColumn(draft, column, true));
			expect(scheduleType(withScheduleType(draft, "Interval"))).toBe(
				"Interval",
			);
		}),
	);
});

test("what is no whole number stays for the API to refuse", () => {
	expect([numberOf("7"), numberOf("1.5"), numberOf("")]).toEqual([
		7,
		"1.5",
		undefined,
	]);
});
