import { randomBytes } from "node:crypto";
import { label, managedByApi } from "../../crds/labels.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import {
	type ApiRequest,
	isObject,
	type JsonObject,
	writeOptions,
} from "../http/endpoint.ts";
import type { ErrorDetail } from "../http/errors.ts";

/** A place in a spec that refers to a Secret, and where a request may give the secret itself instead. */
export interface SecretField {
	/** Path of the object in the spec that has the reference. */
	at: string[];
	/** The field in the request: a string or a list of strings. */
	inline: string;
	/** The field in the CRD: a reference or a list of references. */
	ref: "secretRef" | "secretRefs";
	description: string;
	/** What a secret must be; undefined if this one is. */
	problemOf?(secret: string): string | undefined;
}

/** A Secret to create: its name, and its values by key. */
export interface InlineSecret {
	name: string;
	values: Record<string, string>;
}

const maxSecretLength = 65_536;

/**
 * Replaces the secrets in a request's body by references to new Secrets. The Secrets' names begin with the resource's and
 * differ each time, because the role of an editor may create Secrets but not change them.
 * @param isPatch null may remove the reference that the secret replaces.
 */
export function takeSecrets(
	fields: SecretField[],
	body: JsonObject,
	resource: string,
	isPatch = false,
): { body: JsonObject; secrets: InlineSecret[]; errors: ErrorDetail[] } {
	const result = {
		body,
		secrets: [] as InlineSecret[],
		errors: [] as ErrorDetail[],
	};
	for (const field of fields) {
		const parent = field.at.reduce<unknown>(
			(value, name) => (isObject(value) ? value[name] : undefined),
			result.body,
		);
		if (!isObject(parent) || !Object.hasOwn(parent, field.inline)) continue;
		const { [field.inline]: given, ...rest } = parent;
		const path = [...field.at, field.inline].join(".");
		const problem = problemOf(field, given, rest, isPatch);
		if (problem) {
			result.errors.push({ path, message: problem });
			// Otherwise the CRD's schema would also report the field as unknown.
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

function problemOf(
	field: SecretField,
	given: unknown,
	rest: JsonObject,
	isPatch: boolean,
): string | undefined {
	const reference = rest[field.ref];
	if (reference !== undefined && !(isPatch && reference === null))
		return `must not be combined with ${field.ref}`;
	const isSecret = (value: unknown) =>
		typeof value === "string" &&
		value.length > 0 &&
		value.length <= maxSecretLength;
	if (isList(field))
		return Array.isArray(given) &&
			given.length >= 1 &&
			given.length <= 5 &&
			given.every(isSecret)
			? undefined
			: `must be a list of 1 to 5 strings of 1 to ${maxSecretLength} characters`;
	return isSecret(given)
		? field.problemOf?.(given as string)
		: `must be a string of 1 to ${maxSecretLength} characters`;
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

/**
 * Creates the Secrets that a write refers to, then writes. It first writes as a dry run, so that a refused write
 * creates no Secrets. The caller may not change or delete Secrets, so the operator makes the resource their owner, and
 * removes those that no resource refers to.
 */
export async function withSecrets<T>(
	{ client, account }: Pick<ApiRequest, "client" | "account">,
	secrets: InlineSecret[],
	dryRun: boolean,
	write: (dryRun: boolean) => Promise<T>,
): Promise<T> {
	if (secrets.length === 0) return write(dryRun);
	const rehearsed = await write(true);
	for (const { name, values } of secrets)
		await client.create(
			kinds.secret,
			{
				metadata: {
					name,
					namespace: account,
					labels: { ...managedByApi, [label.use]: "true" },
				},
				immutable: true,
				stringData: values,
			},
			{ ...writeOptions, dryRun },
		);
	return dryRun ? rehearsed : write(false);
}
