import { settingFields } from "../../packages/warehouses/generated/specs.ts";
import type { WarehouseOf } from "../../packages/warehouses/registry.ts";

/**
 * What a Job is told of a Destination's warehouse: each field that is no object, such as a reference to a Secret, and the default of one
 * that is absent. So a new field of a crd.yaml reaches the Job by itself.
 */
export function inputSettings(warehouse: WarehouseOf): object {
	const { definition, own } = warehouse;
	if (definition.input) return definition.input(own);
	const given = settingsOf(warehouse).filter(
		([, value]) => value !== undefined && value !== "",
	);
	return { ...definition.defaults, ...Object.fromEntries(given) };
}

/**
 * The same for the digest of what a check verifies, in the order of the crd.yaml. What is absent and what is its default are the
 * same: undefined.
 */
export function verifiedSettings(warehouse: WarehouseOf): object {
	const { definition, own } = warehouse;
	const { defaults = {}, verified } = definition;
	const given = settingsOf(warehouse).map(([name, value]) => [
		name,
		value === Reflect.get(defaults, name) ? undefined : value,
	]);
	return { ...Object.fromEntries(given), ...verified?.(own) };
}

function settingsOf({ definition, own }: WarehouseOf): [string, unknown][] {
	const names = settingFields[definition.member as keyof typeof settingFields];
	return names.map((name) => [name, Reflect.get(own, name)]);
}
