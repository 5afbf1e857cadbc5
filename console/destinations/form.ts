import type { WarehouseFormField } from "../../packages/warehouses/definition/form.ts";
import { warehouseOf, warehouses } from "../../packages/warehouses/registry.ts";
import type { Draft } from "../resource/draft.ts";

/** What the form of a Destination shows of a draft; the YAML has the rest. */

export const warehouseTypes: readonly string[] = [...warehouses.keys()];
const usualType = "DuckDB";

/** The fields of a type by their path in the spec, in the order in which they are shown. */
export function fieldsOf(type: string): [string, WarehouseFormField][] {
	const { member, form } = warehouses.get(type)!;
	return Object.entries(form.fields).map(([path, field]) => [
		`${member}.${path}`,
		field,
	]);
}

/** Those that show their own errors. */
export const formFields = [
	...["name", "displayName", "type"],
	...warehouseTypes.flatMap((type) => fieldsOf(type).map(([path]) => path)),
];

export function newDestination(): Draft {
	return { name: "", spec: { type: usualType, [memberOf(usualType)]: {} } };
}

export function typeOf({ spec }: Draft): string {
	return warehouseTypes.find((type) => type === spec.type) ?? usualType;
}

/** Another type, without the member of the one before. */
export function withType(draft: Draft, type: string): Draft {
	const { type: _, ...spec } = draft.spec;
	for (const member of warehouseTypes.map(memberOf)) delete spec[member];
	return { ...draft, spec: { type, ...spec, [memberOf(type)]: {} } };
}

function memberOf(type: string): string {
	return warehouses.get(type)!.member;
}

/** Where the warehouse is, in one line. */
export function placeOf(destination: { type: string }): string {
	const warehouse = warehouseOf(destination);
	if (!warehouse) return "";
	const { definition, own } = warehouse;
	return definition.form.place(own).filter(Boolean).join("/");
}
