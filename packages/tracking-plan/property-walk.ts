import type { Fuel } from "./metered/fuel.ts";
import type { Tools } from "./metered/tools.ts";
import { SchemaIndex } from "./schema-index.ts";
import { type SchemaPart, schemaPart } from "./schema-part.ts";
import { SchemaSet } from "./schema-set.ts";
import type { PlanSchema } from "./schemas.ts";
import { isObject, type SchemaObject } from "./subschemas.ts";

/**
 * Finds the properties of a body that no applicable subschema names, whichever branch matches: it walks schemas and body
 * together and judges nothing. An object whose schemas name no property is free-form.
 */
export class PropertyWalk {
	readonly #roots: Map<string, SchemaObject>;
	readonly #index: SchemaIndex;
	readonly #tools: Tools;
	readonly #fuel: Fuel;
	/** By the ids of their schemas. Bodies choose what is here, so it is bounded. */
	readonly #sets = new Map<string, SchemaSet>();
	#kept = 0;
	readonly #parts = new Map<SchemaObject, SchemaPart>();

	constructor(schemas: PlanSchema[], tools: Tools, fuel: Fuel) {
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

	#setOf(schemas: SchemaObject[]): SchemaSet {
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
	#closure(schemas: SchemaObject[]): SchemaPart[] {
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

	#partOf(schema: SchemaObject): SchemaPart {
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
