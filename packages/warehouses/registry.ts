import type { WarehouseDefinition } from "./definition/definition.ts";
import * as types from "./types.ts";

/** By type, in alphabetical order. */
export const warehouses: ReadonlyMap<string, WarehouseDefinition> = new Map(
	Object.entries(types),
);

/** For people: all types that this version knows. */
export function knownTypes(): string {
	return new Intl.ListFormat("en-GB").format(warehouses.keys());
}

/** For people: what a warehouse may be, such as `a DuckDB file`. */
export function knownNouns(): string {
	const nouns = [...warehouses.values()].map(({ noun }) => noun);
	return new Intl.ListFormat("en-GB", { type: "disjunction" }).format(nouns);
}

/** A Destination's warehouse: its type's definition, and its own part of the spec. */
export interface WarehouseOf {
	definition: WarehouseDefinition;
	own: object;
}

/** Undefined for a type that this version doesn't know, which a CRD of a later version has. */
export function warehouseOf(spec: { type: string }): WarehouseOf | undefined {
	const definition = warehouses.get(spec.type);
	const own =
		definition && (spec as Record<string, unknown>)[definition.member];
	return own ? { definition: definition!, own } : undefined;
}
