import type { PipelineBodyColumn } from "../../crds/generated/types.ts";
import { utcDate } from "../../packages/contracts/utc-date.ts";
import { pointerToken } from "../../packages/json/json-pointer.ts";
import { pipelines as words } from "../messages/pipelines.ts";
import { type Draft, isObject } from "../resource/draft.ts";
import { bodyColumns, eventColumns, tickedColumns } from "./form.ts";

/** A recent event of the Source, as much as a preview needs. */
export interface RecentEvent {
	eventId: string;
	time: string;
	/** As it was sent; absent for who may not see bodies. */
	body?: string;
	violations?: unknown;
}

/** A value that recent bodies have, as a column that somebody may tick. */
export interface SuggestedColumn {
	column: PipelineBodyColumn & { type: ColumnType };
	/** In how many of the bodies. */
	events: number;
	/** One of its values. */
	example: string;
}

export type ColumnType = NonNullable<PipelineBodyColumn["type"]>;

export const columnTypes: readonly ColumnType[] = [
	...(["String", "Integer", "Number", "Decimal", "Boolean"] as const),
	...(["Timestamp", "Date", "JSON"] as const),
];

const maxDepth = 4;
const maxSuggestions = 100;

/** A number with its text: JavaScript's own have 53 bits. */
class NumberText {
	readonly source: string;
	constructor(source: string) {
		this.source = source;
	}
}

/** The values in recent bodies, those of most bodies first, each with the type that all its values fit. */
export function suggestedColumns(bodies: readonly string[]): SuggestedColumn[] {
	const found = new Map<
		string,
		{ types: Set<ColumnType>; events: number; example: string }
	>();
	for (const text of bodies) {
		const body = parsedBody(text);
		if (!isObject(body)) continue;
		for (const [pointer, value] of leaves(body, "", 1)) {
			if (pointer.length > 200) continue;
			const known = found.get(pointer) ?? {
				types: new Set(),
				events: 0,
				example: "",
			};
			known.events++;
			if (value !== null) {
				known.types.add(typeOf(value));
				known.example ||= textOf(value);
			}
			found.set(pointer, known);
		}
	}
	const names = new Set<string>(eventColumns.map(({ name }) => name));
	return [...found]
		.sort(([, a], [, b]) => b.events - a.events)
		.slice(0, maxSuggestions)
		.map(([bodyPointer, { types, events, example }]) => ({
			column: {
				name: freeName(bodyPointer, names),
				bodyPointer,
				type: commonType(types),
			},
			events,
			example: cut(example),
		}));
}

function* leaves(
	object: object,
	prefix: string,
	depth: number,
): Generator<[string, unknown]> {
	for (const [key, value] of Object.entries(object)) {
		const pointer = `${prefix}/${pointerToken(key)}`;
		const isInner = isPlainObject(value) && Object.keys(value).length > 0;
		if (isInner && depth < maxDepth) yield* leaves(value, pointer, depth + 1);
		else yield [pointer, value];
	}
}

function isPlainObject(value: unknown): value is object {
	return isObject(value) && !(value instanceof NumberText);
}

function typeOf(value: unknown): ColumnType {
	if (value instanceof NumberText)
		return isInteger(value.source) ? "Integer" : "Number";
	if (typeof value === "boolean") return "Boolean";
	if (typeof value !== "string") return "JSON";
	if (isDate(value)) return "Date";
	return isRfc3339(value) ? "Timestamp" : "String";
}

function commonType(types: ReadonlySet<ColumnType>): ColumnType {
	if (types.size === 1) return [...types][0]!;
	if (types.size === 2 && types.has("Integer") && types.has("Number"))
		return "Number";
	return types.has("JSON") ? "JSON" : "String";
}

/** A column's name by the pointer: snake_case, and none that the table has. */
function freeName(pointer: string, taken: Set<string>): string {
	const base =
		pointer
			.replace(/~[01]/g, "/")
			.replace(/([a-z0-9])([A-Z])/g, "$1_$2")
			.toLowerCase()
			.replace(/[^a-z0-9]+/g, "_")
			.replace(/^_+|_+$/g, "")
			.replace(/^(?![a-z])/, "c_")
			.replace(/^(header|query)_/, "body_$1_")
			.slice(0, 58)
			.replace(/_+$/, "") || "value";
	let name = base;
	for (let n = 2; taken.has(name); n++) name = `${base}_${n}`;
	taken.add(name);
	return name;
}

export interface PreviewCell {
	/** undefined is NULL. */
	text: string | undefined;
	/** There is a value, and it doesn't fit the column's type. */
	isUnfit?: true;
}

export interface PreviewTable {
	columns: { name: string; type: string }[];
	rows: PreviewCell[][];
}

/**
 * The table that a Run would make of these events. Bodies that the visitor may not see leave their cells empty.
 * @param followed the columns that earlier Runs have given to members of bodies
 */
export function previewTable(
	draft: Draft,
	events: readonly RecentEvent[],
	followed: readonly PipelineBodyColumn[] = [],
): PreviewTable {
	const ticked = tickedColumns(draft).map(
		(column) => eventColumns.find(({ id }) => id === column)!,
	);
	const ofBody = [...bodyColumns(draft), ...followed];
	return {
		columns: [
			...ticked.map(({ name, type }) => ({ name, type })),
			...ofBody.map(({ name, type = words.asPlanned }) => ({ name, type })),
		],
		rows: events.map((event) => {
			const body =
				event.body === undefined ? undefined : parsedBody(event.body);
			return [
				...ticked.map(({ id }) => ({ text: eventValue(id, event) })),
				...ofBody.map((column) => bodyCell(column, body)),
			];
		}),
	};
}

function eventValue(
	id: (typeof eventColumns)[number]["id"],
	{ eventId, time, body, violations }: RecentEvent,
): string | undefined {
	switch (id) {
		case "EventID":
			return eventId;
		case "Timestamp":
			return time;
		case "Date":
			return time.slice(0, 10);
		case "Body":
			return body === undefined ? undefined : cut(body);
		// Of a Run that is to come.
		case "LoadedAt":
		case "Run":
			return undefined;
		case "Violations":
			return violations === undefined
				? undefined
				: cut(JSON.stringify(violations));
	}
}

function bodyCell(
	{ bodyPointer, type, format }: PipelineBodyColumn,
	body: unknown,
): PreviewCell {
	const value = atPointer(body, bodyPointer ?? "");
	if (value === undefined || value === null) return { text: undefined };
	const text = fitting(value, type, format);
	return text === undefined
		? { text: undefined, isUnfit: true }
		: { text: cut(text) };
}

/** The value as its column shows it; undefined if it doesn't fit. Without a type, the plan says one, so any value is shown. */
function fitting(
	value: unknown,
	type: string | undefined,
	format: string | undefined,
): string | undefined {
	const isText = typeof value === "string";
	const scalar = isText
		? value
		: value instanceof NumberText
			? value.source
			: typeof value === "boolean"
				? String(value)
				: undefined;
	const when = (fits: boolean) => (fits ? scalar : undefined);
	switch (type) {
		case "String":
			return scalar;
		case "Integer":
			return when(scalar !== undefined && isInteger(scalar));
		case "Number":
		case "Decimal":
			return when(scalar !== undefined && isNumber(scalar));
		case "Boolean":
			return when(scalar === "true" || scalar === "false");
		case "Date":
			return when(isText && isDate(value));
		case "Timestamp":
			return when(scalar !== undefined && isTimestamp(scalar, isText, format));
		default:
			return scalar !== undefined && type === undefined
				? scalar
				: textOf(value);
	}
}

function isTimestamp(
	text: string,
	isText: boolean,
	format = "RFC3339",
): boolean {
	switch (format) {
		case "RFC3339":
			return isText && isRfc3339(text);
		case "UnixSeconds":
		case "UnixMillis":
			return isNumber(text);
		case "RFC2822":
			return isText && !Number.isNaN(Date.parse(text));
		default:
			return isText && /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}/.test(text);
	}
}

function isNumber(text: string): boolean {
	return /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text);
}

/** Of 64 bits. A fraction of zeros and an exponent are left to load, which knows them exactly. */
function isInteger(text: string): boolean {
	const whole = /^(-?\d{1,19})(?:\.0+)?$/.exec(text)?.[1];
	return (
		whole !== undefined && BigInt.asIntN(64, BigInt(whole)) === BigInt(whole)
	);
}

function isDate(text: string): boolean {
	return (
		/^\d{4}-\d{2}-\d{2}$/.test(text) &&
		!Number.isNaN(Date.parse(text)) &&
		// Date.parse may take the 30th of February for a day in March.
		utcDate(Date.parse(text)) === text
	);
}

function isRfc3339(text: string): boolean {
	return (
		/^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?([Zz]|[+-]\d{2}(:?\d{2})?)$/.test(
			text,
		) && isDate(text.slice(0, 10))
	);
}

/** undefined if it is no JSON, or deeper than the browser's parser goes. */
function parsedBody(text: string): unknown {
	try {
		const keep = (_: string, value: unknown, context?: { source?: string }) =>
			typeof value === "number"
				? new NumberText(context?.source ?? String(value))
				: value;
		return JSON.parse(text, keep as (key: string, value: unknown) => unknown);
	} catch {
		return undefined;
	}
}

function atPointer(body: unknown, pointer: string): unknown {
	let at = body;
	for (const step of pointer.split("/").slice(1)) {
		const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
		if (Array.isArray(at))
			at = /^(0|[1-9]\d*)$/.test(key) ? at[Number(key)] : undefined;
		else
			at =
				isPlainObject(at) && Object.hasOwn(at, key)
					? (at as Record<string, unknown>)[key]
					: undefined;
	}
	return at;
}

function textOf(value: unknown): string {
	if (typeof value === "string") return value;
	if (value instanceof NumberText) return value.source;
	if (Array.isArray(value)) return `[${value.map(jsonOf).join(",")}]`;
	return jsonOf(value);
}

function jsonOf(value: unknown): string {
	if (value instanceof NumberText) return value.source;
	if (Array.isArray(value)) return `[${value.map(jsonOf).join(",")}]`;
	if (isObject(value))
		return `{${Object.entries(value)
			.map(([key, inner]) => `${JSON.stringify(key)}:${jsonOf(inner)}`)
			.join(",")}}`;
	return JSON.stringify(value) ?? "";
}

function cut(text: string, max = 200): string {
	return text.length > max ? `${text.slice(0, max)}…` : text;
}
