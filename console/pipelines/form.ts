import { pipelineForm as hints } from "../../crds/forms.ts";
import type { PipelineBodyColumn } from "../../crds/generated/types.ts";
import { tableNameOf } from "../../crds/table-name.ts";
import type { Strategy } from "../../packages/contracts/job.ts";
import type { FieldHint } from "../../packages/warehouses/definition/definition.ts";
import { warehouses } from "../../packages/warehouses/registry.ts";
import { pipelines as words } from "../messages/pipelines.ts";
import {
	type Draft,
	isObject,
	textAt,
	valueAt,
	withField,
} from "../resource/draft.ts";

/*
 * What the form of a Pipeline shows of a draft, and what each of its fields changes in it. The draft is the only state: fields
 * that the form doesn't show stay as they are.
 */

/** The columns that Tidemill has for every event, in the order in which the table gets them. */
export const eventColumns = [
	{ id: "EventID", name: "event_id", type: "String" },
	{ id: "Timestamp", name: "timestamp", type: "Timestamp" },
	{ id: "Body", name: "body", type: "JSON" },
	{ id: "Date", name: "date", type: "Date" },
	{ id: "Violations", name: "violations", type: "JSON" },
	{ id: "LoadedAt", name: "loaded_at", type: "Timestamp" },
	{ id: "Run", name: "run", type: "String" },
] as const;

export type EventColumn = (typeof eventColumns)[number]["id"];

/** The paths of the form's fields in the spec, in the order in which they are shown. Errors are placed by them. */
export const formFields = [
	"displayName",
	"name",
	"sourceRef.name",
	"destinationRef.name",
	"filter.types",
	"filter.eventType",
	"filter.match",
	"table.name",
	"table.perEventType",
	"table.maxEventTypes",
	"table.eventType",
	"table.quarantine",
	"table.columns",
	...[...warehouses.keys()].flatMap((type) =>
		tableFieldsOf(type).map(([path]) => path),
	),
	"table.schema",
	"table.bodyColumns",
	"table.rejectedValues",
	"table.latestBy",
	...[hints.existing, hints.dates].flatMap(Object.keys),
	"schedule.type",
	"schedule.updateTime",
	"schedule.interval",
	"schedule.cron",
	"schedule.timeZone",
	"suspend",
	"notify.types",
	...Object.keys(hints.told),
];

export function newPipeline(source = "", destination = ""): Draft {
	return {
		name: "",
		spec: {
			sourceRef: { name: source },
			destinationRef: { name: destination },
			table: { columns: ["EventID", "Timestamp", "Body", "Date"] },
			dateRange: { end: "Today" },
			overwritePeriodDays: 1,
			schedule: { type: "Daily", updateTime: "06:00" },
		},
	};
}

/** What people call it: the name to display, or else the resource's. */
export function integrationName({ name, spec }: Draft): string {
	return textAt(spec, "displayName") || name;
}

/** @param isNew the resource's name follows what people type, as long as nobody has chosen another. */
export function withIntegrationName(
	draft: Draft,
	text: string,
	isNew: boolean,
): Draft {
	const follows = isNew && draft.name === resourceName(integrationName(draft));
	const name = follows ? resourceName(text) : draft.name;
	const displayName = text === name || text === "" ? undefined : text;
	return withField({ ...draft, name }, "displayName", displayName);
}

const maxNameLength = 40;

/** The text as the name of a resource: lower-case letters, digits and dashes; empty if it has none. */
export function resourceName(text: string): string {
	return text
		.normalize("NFKD")
		.replace(/\p{M}/gu, "")
		.toLowerCase()
		.replace(/[^a-z0-9]+/g, "-")
		.slice(0, maxNameLength)
		.replace(/^-+|-+$/g, "");
}

/** The types of events that the filter wants, one a line, as somebody types them. */
export function eventTypes({ spec }: Draft): string {
	const types = valueAt(spec, "filter.types");
	return Array.isArray(types) ? types.map(String).join("\n") : "";
}

/**
 * Without types, the place of types may not stand beside them.
 * @param place where the types were before somebody emptied the field to type others
 */
export function withEventTypes(
	draft: Draft,
	text: string,
	place?: unknown,
): Draft {
	if (text === "")
		return ["types", "eventType"].reduce(
			(left, field) => withField(left, `filter.${field}`, undefined),
			draft,
		);
	const typed = withField(draft, "filter.types", text.split("\n"));
	return place === undefined
		? typed
		: withField(typed, "filter.eventType", place);
}

/** How a draft says where an event's type is: `bodyPointer`, `header`, or empty for as others say. */
export function typePlace(
	{ spec }: Draft,
	path: "filter.eventType" | "table.eventType",
): "" | "bodyPointer" | "header" {
	const place = valueAt(spec, path);
	if (!isObject(place)) return "";
	return "header" in place && !("bodyPointer" in place)
		? "header"
		: "bodyPointer";
}

/** The value that bodies must have, by the two fields of `filter.match`. Without both, the filter has none. */
export function withMatch(
	draft: Draft,
	field: "bodyPointer" | "equals",
	text: string,
): Draft {
	const at = (one: "bodyPointer" | "equals") =>
		one === field ? text : textAt(draft.spec, `filter.match.${one}`);
	const [bodyPointer, equals] = [at("bodyPointer"), at("equals")];
	const isNone = bodyPointer === "" && equals === "";
	return withField(
		draft,
		"filter.match",
		isNone ? undefined : { bodyPointer, equals },
	);
}

export function hasPerEventType({ spec }: Draft): boolean {
	return valueAt(spec, "table.perEventType") === true;
}

/** Without it, nothing may stand beside it that only makes sense with it. */
export function withPerEventType(draft: Draft, isOn: boolean): Draft {
	if (isOn) return withField(draft, "table.perEventType", true);
	const fields = ["perEventType", "maxEventTypes", "eventType"];
	return fields.reduce(
		(left, field) => withField(left, `table.${field}`, undefined),
		draft,
	);
}

/** The table's name if the form leaves it empty. */
export function generatedTable({ name }: Draft): string {
	return name === "" ? "" : tableNameOf(name, undefined);
}

/** Without the field, the API's default. */
export function tickedColumns({ spec }: Draft): EventColumn[] {
	const columns = valueAt(spec, "table.columns");
	return Array.isArray(columns)
		? columns.filter((column) => eventColumns.some(({ id }) => id === column))
		: ["EventID", "Timestamp", "Body", "Date"];
}

/** A column that is ticked comes where Tidemill's order has it; the others keep the order that somebody gave them. */
export function withColumn(
	draft: Draft,
	column: EventColumn,
	isTicked: boolean,
): Draft {
	const others = tickedColumns(draft).filter((one) => one !== column);
	if (!isTicked) return withField(draft, "table.columns", others);
	const place = (id: EventColumn) =>
		eventColumns.findIndex((one) => one.id === id);
	const next = others.findIndex((one) => place(one) > place(column));
	return withField(
		draft,
		"table.columns",
		others.toSpliced(next === -1 ? others.length : next, 0, column),
	);
}

export function bodyColumns({ spec }: Draft): PipelineBodyColumn[] {
	const columns = valueAt(spec, "table.bodyColumns");
	if (!Array.isArray(columns)) return [];
	return columns.filter(isObject).map((column) => ({
		...column,
		name: textAt(column, "name"),
		bodyPointer: textAt(column, "bodyPointer"),
	})) as PipelineBodyColumn[];
}

export function withBodyColumns(
	draft: Draft,
	columns: readonly PipelineBodyColumn[],
): Draft {
	return withField(
		draft,
		"table.bodyColumns",
		columns.length > 0 ? columns : undefined,
	);
}

/** A body column with another type, without the fields that are for the type before. */
export function withType(
	{ name, bodyPointer, ...before }: PipelineBodyColumn,
	type: string,
): PipelineBodyColumn {
	const own =
		type === "Decimal"
			? { precision: before.precision, scale: before.scale }
			: type === "Timestamp"
				? { format: before.format, timeZone: before.timeZone }
				: {};
	const kept = Object.entries(own).filter(([, value]) => value !== undefined);
	return {
		name,
		bodyPointer,
		...(type !== "" && { type }),
		...Object.fromEntries(kept),
	} as PipelineBodyColumn;
}

/** Whether members of bodies get columns by themselves. */
export function followsEvents({ spec }: Draft): boolean {
	return valueAt(spec, "table.schema") === "Evolve";
}

export function withEvolve(draft: Draft, isOn: boolean): Draft {
	return withField(draft, "table.schema", isOn ? "Evolve" : undefined);
}

/** The key of the view of latest rows: names of columns, in somebody's order. Empty for no view. */
export function latestBy({ spec }: Draft): string[] {
	const names = valueAt(spec, "table.latestBy");
	return Array.isArray(names)
		? [...new Set(names.filter((name) => typeof name === "string"))]
		: [];
}

export function withLatestBy(
	draft: Draft,
	column: string,
	isTicked: boolean,
): Draft {
	const others = latestBy(draft).filter((name) => name !== column);
	const names = isTicked ? [...others, column] : others;
	return withField(
		draft,
		"table.latestBy",
		names.length > 0 ? names : undefined,
	);
}

/** Why a field can't have a value beside what the draft has, by what its CRD refuses; undefined if it can. */
export function clashOf(draft: Draft, path: string): string | undefined {
	const { clashes } = words;
	const columns = tickedColumns(draft);
	switch (path) {
		case "table.schema":
			return hasPerEventType(draft) ? clashes.ofOneTable : undefined;
		case "table.perEventType":
			return followsEvents(draft)
				? clashes.evolving
				: latestBy(draft).length > 0
					? clashes.latest
					: undefined;
		case "table.latestBy":
			return hasPerEventType(draft)
				? clashes.ofOneTable
				: !columns.includes("Timestamp") || !columns.includes("EventID")
					? clashes.unordered
					: needsPartitionFilter(draft)
						? clashes.wholeTable
						: undefined;
		default:
			return undefined;
	}
}

function needsPartitionFilter({ spec }: Draft): boolean {
	return [...warehouses.values()].some(
		({ member }) =>
			valueAt(spec, `table.${member}.requirePartitionFilter`) === true,
	);
}

/** The fields that a type of warehouse has for the table, by their path in the spec. */
export function tableFieldsOf(type: string): [string, FieldHint][] {
	const { member = "", form } = warehouses.get(type) ?? {};
	return Object.entries(form?.tableFields ?? {}).map(([path, field]) => [
		`table.${member}.${path}`,
		field,
	]);
}

export function isTableField(path: string): boolean {
	return [...warehouses.keys()].some((type) =>
		tableFieldsOf(type).some(([own]) => own === path),
	);
}

/**
 * Those of the Destination's type, and those of other types that the draft has a value for, which the table can't have.
 * @param type undefined for a Destination that the visitor doesn't see
 */
export function tableFields(
	{ spec }: Draft,
	type: string | undefined,
): [string, FieldHint][] {
	return [...warehouses.keys()].flatMap((one) =>
		tableFieldsOf(one).filter(
			([path]) => one === type || valueAt(spec, path) !== undefined,
		),
	);
}

/** The table of a Pipeline: its own name, or the generated one. */
export function chosenTable(draft: Draft): string {
	return textAt(draft.spec, "table.name") || generatedTable(draft);
}

export function strategyOf(draft: Draft): Strategy {
	return tickedColumns(draft).includes("Date") ? "Incremental" : "FullReload";
}

/** What can be told of a Pipeline's Runs, in the order in which the form shows it. */
export const toldTypes = [
	...(["RunFailed", "RunRecovered", "RunLate"] as const),
	...(["ValuesUnfit", "ValuesRecovered"] as const),
];

export type ToldType = (typeof toldTypes)[number];

/** What is told: without the field, everything. */
export function tickedTypes({ spec }: Draft): ToldType[] {
	const types = valueAt(spec, "notify.types");
	return Array.isArray(types)
		? toldTypes.filter((type) => types.includes(type))
		: [...toldTypes];
}

/** With all of them, the field is absent: so it also has those of a later version. An empty list tells nothing. */
export function withToldType(
	draft: Draft,
	type: ToldType,
	isTicked: boolean,
): Draft {
	const before = tickedTypes(draft);
	const types = toldTypes.filter((one) =>
		one === type ? isTicked : before.includes(one),
	);
	const isAll = types.length === toldTypes.length;
	return withField(draft, "notify.types", isAll ? undefined : types);
}
