import type { Fuel } from "./metered/fuel.ts";
import type { PlanTools } from "./metered/tools.ts";
import { SchemaIndex } from "./schema-index.ts";
import { isObject, type PlanSchema, type SchemaKeywords } from "./schemas.ts";

/**
 * Finds the properties of a body that no applicable subschema names, whichever branch matches: it walks schemas and body
 * together and validates nothing. An object whose schemas name no property is free-form.
 */
export class PropertyWalk {
	readonly #roots: Map<string, SchemaKeywords>;
	readonly #index: SchemaIndex;
	readonly #tools: PlanTools;
	readonly #fuel: Fuel;
	/** By the ids of their schemas. Bodies choose what is here, so it is bounded. */
	readonly #sets = new Map<string, SchemaSet>();
	#kept = 0;
	readonly #parts = new Map<SchemaKeywords, SchemaPart>();

	constructor(schemas: PlanSchema[], tools: PlanTools, fuel: Fuel) {
		this.#roots = new Map(
			schemas.flatMap(({ name, schema }) =>
				typeof schema === "object" ? [[name, schema] as const] : [],
			),
		);
		this.#index = new SchemaIndex(schemas);
		this.#tools = tools;
		this.#fuel = fuel;
	}

	/**
	 * @param name Of the event's schema. An event whose type has none may have any property beside those of `common`.
	 * @param report Takes a JSON Pointer (RFC 6901) to a property; what is in it isn't looked at.
	 */
	find(name: string, body: unknown, report: (pointer: string) => void): void {
		const own = this.#roots.get(name);
		const set = this.#setOf([this.#roots.get("common"), own].filter(isObject));
		this.#walk(body, set, "", (pointer, depth) => {
			if (own || depth > 0) report(pointer);
		});
	}

	#walk(
		value: unknown,
		set: SchemaSet,
		path: string,
		report: (pointer: string, depth: number) => void,
		depth = 0,
	): void {
		if (!isObject(value) || set.isEmpty) return;
		if (Array.isArray(value)) {
			for (const [index, item] of value.entries()) {
				this.#fuel.burn(1);
				if (isObject(item))
					this.#walk(item, set.item(index), `${path}/${index}`, report, depth);
			}
			return;
		}
		if (set.isFreeForm) return;
		for (const key of this.#tools.keys(value)) {
			this.#fuel.burn(1);
			const inside = value[key];
			const child = set.property(key);
			if (child && !isObject(inside)) continue;
			const pointer = `${path}/${this.#tools.escape(key)}`;
			if (child) this.#walk(inside, child, pointer, report, depth + 1);
			else {
				this.#fuel.burn(8 + (pointer.length >> 4));
				report(pointer, depth);
			}
		}
	}

	#setOf(schemas: SchemaKeywords[]): SchemaSet {
		const parts = this.#closure(schemas);
		const key = parts
			.map(({ id }) => id)
			.sort((a, b) => a - b)
			.join();
		let set = this.#sets.get(key);
		if (!set) {
			this.#kept += 1 + parts.length;
			for (const { names } of parts) this.#kept += names;
			if (this.#kept > maxKept) {
				this.#sets.clear();
				this.#kept = 0;
			}
			set = new SchemaSet(parts, this.#fuel, (next) => this.#setOf(next));
			this.#sets.set(key, set);
		}
		return set;
	}

	/** With everything that applies to the same value. */
	#closure(schemas: SchemaKeywords[]): SchemaPart[] {
		const all = new Set<SchemaPart>();
		const open = [...schemas];
		for (let next = open.pop(); next; next = open.pop()) {
			const part = this.#partOf(next);
			if (all.has(part)) continue;
			all.add(part);
			this.#fuel.burn(stepsPerSchema);
			open.push(...part.inPlace);
		}
		return [...all];
	}

	#partOf(schema: SchemaKeywords): SchemaPart {
		let part = this.#parts.get(schema);
		if (!part) {
			const targets = this.#index.targetsOf(schema);
			part = schemaPart(schema, this.#parts.size, targets, this.#tools);
			this.#parts.set(schema, part);
		}
		return part;
	}
}

/** Schemas and names that the sets hold: about 100 bytes each. */
const maxKept = 100_000;
const stepsPerSchema = 4;

/** What one schema says about properties and items. */
interface SchemaPart {
	id: number;
	/** The schemas that apply to the same value. */
	inPlace: SchemaKeywords[];
	/** How many properties and patterns it names; one if it says that there are no others. */
	names: number;
	properties: SchemaKeywords;
	patterns: { pattern: { test(key: string): boolean }; schema: unknown }[];
	/** The schema of properties without a name. */
	others: unknown;
	required: Set<unknown>;
	tuple: unknown[];
	/** The schema of the items after the tuple's. */
	rest: unknown;
	anywhere: unknown[];
}

/** @param targets What its references lead to. */
function schemaPart(
	schema: SchemaKeywords,
	id: number,
	targets: SchemaKeywords[],
	tools: PlanTools,
): SchemaPart {
	const { additionalProperties, unevaluatedProperties, required } = schema;
	const { items, prefixItems, additionalItems } = schema;
	const others = additionalProperties ?? unevaluatedProperties;
	const properties = isObject(schema.properties) ? schema.properties : {};
	const patterns = isObject(schema.patternProperties)
		? Object.entries(schema.patternProperties)
		: [];
	const tuples = [prefixItems, items].filter(Array.isArray) as unknown[][];
	return {
		id,
		inPlace: [...inPlace(schema), ...targets],
		names:
			Object.keys(properties).length +
			patterns.length +
			(others === false ? 1 : 0),
		properties,
		patterns: patterns.map(([source, value]) => ({
			pattern: tools.pattern(source),
			schema: value,
		})),
		others,
		required: new Set(Array.isArray(required) ? required : []),
		tuple: tuples[0] ?? [],
		rest: Array.isArray(items) ? additionalItems : items,
		anywhere: [schema.contains, schema.unevaluatedItems],
	};
}

function inPlace(schema: SchemaKeywords): SchemaKeywords[] {
	const { allOf, anyOf, oneOf, dependentSchemas, dependencies } = schema;
	return [
		...[allOf, anyOf, oneOf].filter(Array.isArray).flat(),
		...[dependentSchemas, dependencies].filter(isObject).flatMap(Object.values),
		schema.if,
		schema.then,
		schema.else,
	].filter(isSchemaObject);
}

function isSchemaObject(schema: unknown): schema is SchemaKeywords {
	return isObject(schema) && !Array.isArray(schema);
}

/** The schemas that apply to one value. */
class SchemaSet {
	/** Whether nothing is said about the value. */
	readonly isEmpty: boolean;
	/** Whether nothing is said about an object's properties. */
	readonly isFreeForm: boolean;
	readonly #parts: SchemaPart[];
	readonly #fuel: Fuel;
	readonly #setOf: (schemas: SchemaKeywords[]) => SchemaSet;
	readonly #namesProperties: boolean;
	readonly #longestTuple: number;
	/** Of the properties that a schema names, and that events had. */
	readonly #named = new Map<string, SchemaSet>();
	readonly #items = new Map<number, SchemaSet>();

	constructor(
		parts: SchemaPart[],
		fuel: Fuel,
		setOf: (schemas: SchemaKeywords[]) => SchemaSet,
	) {
		this.#parts = parts;
		this.#fuel = fuel;
		this.#setOf = setOf;
		this.isEmpty = parts.length === 0;
		this.#namesProperties = parts.some(({ names }) => names > 0);
		this.isFreeForm =
			!this.#namesProperties && !parts.some(({ others }) => isObject(others));
		this.#longestTuple = parts.reduce(
			(longest, { tuple }) => Math.max(longest, tuple.length),
			0,
		);
	}

	/** What applies to a property's value; undefined if no schema names the property. */
	property(key: string): SchemaSet | undefined {
		const known = this.#named.get(key);
		if (known) return known;
		let isNamed = false;
		let isPlanned = !this.#namesProperties;
		const found: SchemaKeywords[] = [];
		this.#fuel.burn(this.#parts.length);
		for (const part of this.#parts) {
			const own = part.patterns
				.filter(({ pattern }) => pattern.test(key))
				.map(({ schema }) => schema);
			if (Object.hasOwn(part.properties, key)) {
				isNamed = true;
				own.push(part.properties[key]);
			}
			if (own.length === 0 && part.others !== undefined) own.push(part.others);
			// False plans nothing; one that is required and named nowhere is planned all the same.
			isPlanned ||= own.some((schema) => schema !== false);
			isPlanned ||= part.required.has(key);
			found.push(...own.filter(isSchemaObject));
		}
		if (!isPlanned) return undefined;
		const set = this.#setOf(found);
		// Senders choose the other names.
		if (isNamed) this.#named.set(key, set);
		return set;
	}

	item(index: number): SchemaSet {
		const at = Math.min(index, this.#longestTuple);
		let set = this.#items.get(at);
		if (!set) {
			this.#fuel.burn(this.#parts.length);
			set = this.#setOf(
				this.#parts.flatMap(({ tuple, rest, anywhere }) =>
					[at < tuple.length ? tuple[at] : rest, ...anywhere].filter(
						isSchemaObject,
					),
				),
			);
			this.#items.set(at, set);
		}
		return set;
	}
}
