import type { Fuel } from "./metered/fuel.ts";
import { isSchemaObject, type SchemaPart } from "./schema-part.ts";
import { isObject, type SchemaObject } from "./subschemas.ts";

/** The schemas that apply to one value. */
export class SchemaSet {
	/** Whether nothing is said about the value. */
	readonly isEmpty: boolean;
	/** Whether nothing is said about an object's properties. */
	readonly isFreeForm: boolean;
	readonly #parts: SchemaPart[];
	readonly #fuel: Fuel;
	readonly #setOf: (schemas: SchemaObject[]) => SchemaSet;
	readonly #namesProperties: boolean;
	readonly #longestTuple: number;
	/** Of the properties that a schema names, and that events had. */
	readonly #named = new Map<string, SchemaSet>();
	readonly #items = new Map<number, SchemaSet>();

	constructor(
		parts: SchemaPart[],
		fuel: Fuel,
		setOf: (schemas: SchemaObject[]) => SchemaSet,
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
		const found: SchemaObject[] = [];
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
