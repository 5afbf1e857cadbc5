import type { FieldHint } from "../../packages/warehouses/definition/definition.ts";
import { warehouseOf, warehouses } from "../../packages/warehouses/registry.ts";
import { type Draft, textAt, valueAt, withField } from "../resource/draft.ts";

/** What the form of a Destination shows of a draft; the YAML has the rest. */

export const warehouseTypes: readonly string[] = [...warehouses.keys()];
const usualType = "DuckDB";

/** The fields of a type by their path in the spec, in the order in which they are shown. */
export function fieldsOf(type: string): [string, FieldHint][] {
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
	...warehouseTypes.flatMap((type) => {
		const at = userAt(type);
		return at ? [`${at}.username`, `${at}.password`] : [];
	}),
];

/** A user's password stays out of the draft, whose YAML is shown. It is added when the draft is sent, and the API makes a Secret of it. */
export interface User {
	username: string;
	password: string;
}

/** The path of the credentials that may be a user's; undefined for a type without. */
export function userAt(type: string): string | undefined {
	const { member, secretFields = [] } = warehouses.get(type)!;
	const field = secretFields.find(({ beside }) => beside);
	return field && [member, ...field.at].join(".");
}

export function withUser(draft: Draft, { username, password }: User): Draft {
	const at = userAt(typeOf(draft));
	return at && (username || password)
		? withField(draft, at, { username, password })
		: draft;
}

/** Whether the draft sends the Secret of before to another address, where it mustn't go. */
export function isMoved(draft: Draft, before: Draft): boolean {
	const { member, secretFields = [] } = warehouses.get(typeOf(draft))!;
	return secretFields.some(({ at, ref, address = [] }) => {
		const isSame = (path: string) =>
			textAt(draft.spec, path) === textAt(before.spec, path);
		const secret = [member, ...at, ref].join(".");
		return (
			valueAt(draft.spec, secret) !== undefined &&
			isSame(`${secret}.name`) &&
			!address.every((path) => isSame(`${member}.${path}`))
		);
	});
}

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
