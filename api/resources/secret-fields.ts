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
	/** What a secret must be; undefined if this one is. @param parent the object that the request gives it in. */
	problemOf?(secret: string, parent: JsonObject): string | undefined;
	/** Another field that the request gives with it, for the same Secret, to which the reference is as a whole. */
	beside?: { inline: string; description: string };
	/** For a secret that goes to an address: who gives it says where, so that nobody else has chosen that. */
	address?: {
		/** Paths in the spec. */
		at: string[][];
		/** What the spec must have. */
		needs: string[][];
		/** The Secret's annotations that bind it to the address in a valid spec. */
		annotationsOf(spec: object): Record<string, string>;
	};
}

/** A Secret to create: its name, its values by key, and where they go. */
export interface InlineSecret {
	name: string;
	values: Record<string, string>;
	address?: SecretField["address"];
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
		const parent = valueAt(result.body, field.at);
		const names = namesOf(field);
		if (!isObject(parent) || !names.some((name) => Object.hasOwn(parent, name)))
			continue;
		const rest = Object.fromEntries(
			Object.entries(parent).filter(([name]) => !names.includes(name)),
		);
		const errors = names.flatMap((name) => {
			const message = problemOf(field, name, parent, isPatch);
			return message ? [{ path: [...field.at, name].join("."), message }] : [];
		});
		const name = `${resource}-${field.inline}-${randomBytes(5).toString("hex")}`;
		const values = errors.length > 0 ? { x: "x" } : valuesOf(field, parent);
		// Beside errors, too: otherwise the CRD's schema would also report the field as unknown.
		result.body = replaceAt(result.body, field.at, {
			...rest,
			[field.ref]: referenceTo(field, name, values),
		});
		result.errors.push(...errors);
		if (errors.length === 0)
			result.secrets.push({
				...{ name, values },
				...(field.address && { address: field.address }),
			});
	}
	return result;
}

/**
 * What a body with a secret lacks of the address to which that goes: all that the resource has of it afterwards. Otherwise the secret would
 * go where somebody else wanted it before.
 * @param body As the request has it.
 */
export function unsaidAddress(
	fields: SecretField[],
	body: JsonObject,
	spec: JsonObject,
): ErrorDetail[] {
	return fields
		.filter((field) => valueAt(body, [...field.at, field.inline]) !== undefined)
		.flatMap(({ inline, address }) =>
			[
				...(address?.needs ?? []).filter(
					(path) => valueAt(spec, path) === undefined,
				),
				...(address?.at ?? []).filter(
					(path) =>
						valueAt(spec, path) !== undefined &&
						valueAt(body, path) === undefined,
				),
			].map((path) => ({
				path: path.join("."),
				message: `must be given beside ${inline}: a request that gives one says where it goes`,
			})),
		);
}

function valueAt(object: unknown, path: string[]): unknown {
	return path.reduce<unknown>(
		(value, name) =>
			isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined,
		object,
	);
}

/** The fields in the request. */
export function namesOf({ inline, beside }: SecretField): string[] {
	return [...(beside ? [beside.inline] : []), inline];
}

function referenceTo(field: SecretField, name: string, values: object) {
	if (field.beside) return { name };
	const refs = Object.keys(values).map((key) => ({ name, key }));
	return isList(field) ? refs : refs[0];
}

function problemOf(
	field: SecretField,
	name: string,
	parent: JsonObject,
	isPatch: boolean,
): string | undefined {
	const { [name]: given, [field.ref]: reference } = parent;
	if (reference !== undefined && !(isPatch && reference === null))
		return `must not be combined with ${field.ref}`;
	const isSecret = (value: unknown) =>
		typeof value === "string" &&
		value.length > 0 &&
		value.length <= maxSecretLength;
	const problem = (secret: unknown) =>
		field.problemOf?.(secret as string, parent);
	if (isList(field))
		return Array.isArray(given) &&
			given.length >= 1 &&
			given.length <= 5 &&
			given.every(isSecret)
			? given.map(problem).find((found) => found !== undefined)
			: `must be a list of 1 to 5 strings of 1 to ${maxSecretLength} characters`;
	return isSecret(given)
		? problem(given)
		: `must be a string of 1 to ${maxSecretLength} characters`;
}

function valuesOf(
	field: SecretField,
	given: JsonObject,
): Record<string, string> {
	return Object.fromEntries(
		namesOf(field).flatMap((name) =>
			isList(field)
				? (given[name] as string[]).map((value, index) => [
						`${name}-${index}`,
						value,
					])
				: [[name, given[name] as string]],
		),
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
	{ spec, secrets }: { spec: object; secrets: InlineSecret[] },
	dryRun: boolean,
	write: (dryRun: boolean) => Promise<T>,
): Promise<T> {
	if (secrets.length === 0) return write(dryRun);
	const rehearsed = await write(true);
	for (const { name, values, address } of secrets)
		await client.create(
			kinds.secret,
			{
				metadata: {
					name,
					namespace: account,
					labels: { ...managedByApi, [label.use]: "true" },
					...(address && { annotations: address.annotationsOf(spec) }),
				},
				immutable: true,
				stringData: values,
			},
			{ ...writeOptions, dryRun },
		);
	return dryRun ? rehearsed : write(false);
}
