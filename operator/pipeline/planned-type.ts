import type { BodyColumnType } from "../../packages/contracts/job.ts";
import type {
	EventSchema,
	PlanDocument,
} from "../../packages/contracts/tracking-plan.ts";
import { pointerParts } from "../../packages/json/json-pointer.ts";
import { isWhole, rawNumberOf } from "../../packages/json/json-reader.ts";

/** Bounds the search, since strangers write schemas. The plans of real sources take some hundred steps. */
const maxSteps = 20_000;

/** Why a plan gives no type, in words that follow "TrackingPlan x ". */
export type NoType = { problem: string };

/**
 * The type of the column that holds what a JSON Pointer names in the bodies, if the plan's schemas for the types that have
 * it agree on one; undefined if none says one. Values that may be null as well have the type of the others.
 */
export function plannedType(
	pointer: string,
	{ common, events }: Pick<PlanDocument, "common" | "events">,
): BodyColumnType | NoType | undefined {
	const search = new Search(pointerParts(pointer));
	for (const schema of [common, ...events.map(({ schema }) => schema)])
		if (typeof schema === "object") search.visit(schema);
	if (search.steps > maxSteps)
		return { problem: `is too large to look ${pointer} up in it` };
	return search.type(pointer);
}

type SchemaObject = Exclude<EventSchema, boolean>;

/** One walk through schemas along a pointer. */
class Search {
	steps = 0;
	readonly #parts: readonly string[];
	readonly #found = new Set<BodyColumnType>();
	/** At how many parts of the pointer a schema was visited, so that those that refer to themselves end. */
	readonly #visited = new Map<SchemaObject, Set<number>>();

	constructor(parts: readonly string[]) {
		this.#parts = parts;
	}

	/** Without recursion, since people choose how deep a schema is. */
	visit(root: SchemaObject): void {
		const pending: [schema: unknown, depth: number][] = [[root, 0]];
		for (const [schema, depth] of pending) {
			if (++this.steps > maxSteps) return;
			if (!isObject(schema)) continue;
			const depths = this.#visited.get(schema) ?? new Set();
			if (depths.has(depth)) continue;
			this.#visited.set(schema, depths.add(depth));
			for (const each of [...subschemas(schema), referred(schema.$ref, root)])
				pending.push([each, depth]);
			const part = this.#parts[depth];
			if (part === undefined)
				for (const type of typesOf(schema)) this.#found.add(type);
			else
				for (const each of membersOf(schema, part))
					pending.push([each, depth + 1]);
		}
	}

	type(pointer: string): BodyColumnType | NoType | undefined {
		const found = [...this.#found];
		if (found.length <= 1) return found[0];
		if (found.every((type) => type === "Integer" || type === "Number"))
			return "Number";
		if (found.every((type) => texts.has(type))) return "String";
		return {
			problem: `says that ${pointer} is ${found.sort().join(" or ")}`,
		};
	}
}

const texts = new Set<BodyColumnType>(["String", "Timestamp", "Date"]);

function isObject(value: unknown): value is SchemaObject {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Schemas for the same value. */
function subschemas(schema: SchemaObject): unknown[] {
	return ["allOf", "anyOf", "oneOf"]
		.flatMap((keyword) => (own(schema, keyword) as unknown) ?? [])
		.concat(["then", "else"].map((keyword) => own(schema, keyword)));
}

/** Schemas for a member of the value. */
function membersOf(schema: SchemaObject, part: string): unknown[] {
	const property = own(own(schema, "properties"), part);
	if (property !== undefined) return [property];
	const isIndex = /^(0|[1-9]\d*)$/.test(part);
	// draft-07 and 2019-09 have a list in `items`.
	const item =
		own(own(schema, "prefixItems"), part) ??
		own(own(schema, "items"), part) ??
		own(schema, "items");
	return [own(schema, "additionalProperties"), isIndex ? item : undefined];
}

/** `#/…` is the reference within a schema that people write by hand. */
function referred(ref: unknown, root: SchemaObject): unknown {
	if (typeof ref !== "string" || !ref.startsWith("#")) return undefined;
	let found: unknown = root;
	for (const part of pointerParts(ref.slice(1))) found = own(found, part);
	return found;
}

function typesOf(schema: SchemaObject): BodyColumnType[] {
	const named = own(schema, "type");
	const types = named === undefined ? [] : [named].flat();
	const values = [own(schema, "enum") ?? []].flat() as unknown[];
	if (Object.hasOwn(schema, "const")) values.push(schema.const);
	// A type beside the values says more about them.
	return (types.length > 0 ? types : values.map(jsonType)).flatMap((type) => {
		if (type === "string") return [ofFormat.get(schema.format) ?? "String"];
		return ofType.get(type) ?? [];
	});
}

const ofFormat = new Map<unknown, BodyColumnType>([
	["date-time", "Timestamp"],
	["date", "Date"],
]);

const ofType = new Map<unknown, BodyColumnType>([
	["integer", "Integer"],
	["number", "Number"],
	["boolean", "Boolean"],
	["object", "JSON"],
	["array", "JSON"],
]);

function jsonType(value: unknown): string {
	if (value === null) return "null";
	if (Array.isArray(value)) return "array";
	const number = rawNumberOf(value) ?? value;
	if (typeof value === "number" || number !== value)
		return isWhole(String(number)) ? "integer" : "number";
	return typeof value;
}

function own(value: unknown, name: string): unknown {
	return typeof value === "object" &&
		value !== null &&
		Object.hasOwn(value, name)
		? (value as Record<string, unknown>)[name]
		: undefined;
}
