import { randomBytes } from "node:crypto";
import type { ErrorDetail } from "../errors.ts";
import { isObject, type JsonObject } from "./merge-patch.ts";

/** A place in a spec that refers to a Secret, where a request may give what is to be secret instead. */
export interface SecretField {
	/** The object in the spec that has the reference. */
	at: string[];
	/** The request's field: a text, or a list of texts. */
	inline: "token" | "secrets" | "key";
	/** The CRD's field beside it: a reference, or a list of references. */
	ref: "secretRef" | "secretRefs";
	description: string;
}

/** A Secret that is to be made, or was: its name, and its values by key. */
export interface InlineSecret {
	name: string;
	values: Record<string, string>;
}

const maxSecretLength = 65_536;

/**
 * Takes what is secret out of a request's body and puts references to Secrets in its place. The Secrets' names begin
 * with the resource's and are new each time, since who edits resources may create and delete Secrets, not change them.
 */
export function takeSecrets(
	fields: SecretField[],
	body: JsonObject,
	resource: string,
): { body: JsonObject; secrets: InlineSecret[]; errors: ErrorDetail[] } {
	const result = {
		body,
		secrets: [] as InlineSecret[],
		errors: [] as ErrorDetail[],
	};
	for (const field of fields) {
		const holder = field.at.reduce<unknown>(
			(value, name) => (isObject(value) ? value[name] : undefined),
			result.body,
		);
		if (!isObject(holder) || !Object.hasOwn(holder, field.inline)) continue;
		const { [field.inline]: given, ...rest } = holder;
		const path = [...field.at, field.inline].join(".");
		const problem = problemOf(field, given, rest);
		if (problem) {
			result.errors.push({ path, message: problem });
			// Out of the way of the CRD's schema, which would only say that it is unknown.
			result.body = replaceAt(result.body, field.at, {
				...rest,
				...placeholder(field),
			});
			continue;
		}
		const name = `${resource}-${field.inline}-${randomBytes(5).toString("hex")}`;
		const values = valuesOf(field, given as string | string[]);
		const refs = Object.keys(values).map((key) => ({ name, key }));
		result.secrets.push({ name, values });
		result.body = replaceAt(result.body, field.at, {
			...rest,
			[field.ref]: isList(field) ? refs : refs[0],
		});
	}
	return result;
}

/** Names of the Secrets that a spec refers to and that {@link takeSecrets} has named for this resource. */
export function ownSecrets(
	fields: SecretField[],
	spec: unknown,
	resource: string,
): string[] {
	const refs = fields.flatMap(({ at, ref }) => {
		const found = [...at, ref].reduce<unknown>(
			(value, name) => (isObject(value) ? value[name] : undefined),
			spec,
		);
		return [found].flat() as ({ name: string } | undefined)[];
	});
	const own = new RegExp(`^${resource}-(token|secrets|key)-[0-9a-f]{10}$`);
	const names = refs.map((ref) => ref?.name ?? "");
	return [...new Set(names)].filter((name) => own.test(name));
}

function problemOf(
	field: SecretField,
	given: unknown,
	rest: JsonObject,
): string | undefined {
	if (rest[field.ref] !== undefined && rest[field.ref] !== null)
		return `can't be given together with ${field.ref}`;
	const isText = (value: unknown) =>
		typeof value === "string" &&
		value.length > 0 &&
		value.length <= maxSecretLength;
	if (isList(field))
		return Array.isArray(given) &&
			given.length >= 1 &&
			given.length <= 5 &&
			given.every(isText)
			? undefined
			: "must be a list of 1 to 5 texts that are not empty";
	return isText(given)
		? undefined
		: `must be a text of 1 to ${maxSecretLength} characters`;
}

function placeholder(field: SecretField): JsonObject {
	const ref = { name: "x", key: "x" };
	return { [field.ref]: isList(field) ? [ref] : ref };
}

function valuesOf(
	{ inline }: SecretField,
	given: string | string[],
): Record<string, string> {
	return typeof given === "string"
		? { [inline]: given }
		: Object.fromEntries(
				given.map((value, index) => [`${inline}-${index}`, value]),
			);
}

function isList({ ref }: SecretField): boolean {
	return ref === "secretRefs";
}

function replaceAt(
	object: JsonObject,
	[first, ...rest]: string[],
	value: JsonObject,
): JsonObject {
	if (first === undefined) return value;
	return {
		...object,
		[first]: replaceAt(object[first] as JsonObject, rest, value),
	};
}
