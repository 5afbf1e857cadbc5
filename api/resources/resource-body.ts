import { isDeepStrictEqual } from "node:util";
import type { SchemaObject } from "../../crds/json-schema.ts";
import { readResourceSchemas } from "../../crds/resource-schema.ts";
import {
	type KindWithSpec,
	type SpecError,
	schemaValidator,
	validateSpec,
} from "../../crds/spec-validator.ts";
import { isObject, type JsonObject } from "../http/endpoint.ts";
import { type ErrorDetail, flatPath, RequestError } from "../http/errors.ts";
import type { ApiResource, Resource } from "./api-resource.ts";
import {
	type InlineSecret,
	takeSecrets,
	unsaidAddress,
} from "./secret-fields.ts";
import { valueErrors } from "./spec-values.ts";
import { resourceView, shownName } from "./views.ts";

/** A spec that is valid by the CRD's schema, and the new Secrets that it refers to. */
export interface WantedSpec {
	spec: object;
	secrets: InlineSecret[];
	/** All of them; undefined if they stay as they are. */
	labels?: Record<string, string>;
}

/** The spec of a new resource. Throws {@link RequestError} with all errors in the name and the fields. */
export function newSpec(
	resource: ApiResource,
	{ name: given, labels, ...body }: JsonObject,
	name: string,
): WantedSpec {
	const { fields, errors } = withoutReadOnly(
		resource.kind.kind,
		body,
		undefined,
	);
	const taken = take(resource, fields, name);
	return checked(resource, taken, labels, [
		...nameErrors(given),
		...labelErrors(labels),
		...errors,
		...taken.errors,
	]);
}

/** What the body of a change makes of the current resource. Throws as {@link newSpec}. */
export type SpecChange = (
	resource: ApiResource,
	current: Resource,
	body: JsonObject,
) => WantedSpec;

/** The body replaces the spec. */
export const replacedSpec: SpecChange = (
	resource,
	current,
	{ name: newName, labels, ...body },
) => {
	const { name } = current.metadata;
	const { fields, errors } = withoutReadOnly(
		resource.kind.kind,
		body,
		resourceView(current),
	);
	const taken = take(resource, fields, name);
	return checked(resource, taken, labels, [
		...renameErrors(newName, name),
		...labelErrors(labels),
		...errors,
		...taken.errors,
	]);
};

/** The body is a JSON Merge Patch to the spec. */
export const changedSpec: SpecChange = (
	resource,
	current,
	{ name: newName, labels, ...patch },
) => {
	const { name, labels: known = {} } = current.metadata;
	const { fields, errors } = withoutReadOnly(
		resource.kind.kind,
		patch,
		resourceView(current),
	);
	const taken = take(resource, fields, name, current.spec);
	const all = labels === undefined ? undefined : mergePatch(known, labels);
	return checked(resource, taken, all, [
		...renameErrors(newName, name),
		...labelErrors(labels, true),
		...errors,
		...taken.errors,
		...unknownFields(resource.kind.kind, taken.body),
	]);
};

/**
 * Takes the secrets out of a body.
 * @param patched The spec that the body is a patch to.
 */
function take(
	{ secretFields }: ApiResource,
	fields: JsonObject,
	name: string,
	patched?: object,
) {
	const taken = takeSecrets(secretFields, fields, name, patched !== undefined);
	const spec = (
		patched ? mergePatch(patched, taken.body) : taken.body
	) as JsonObject;
	const unsaid = unsaidAddress(secretFields, fields, spec);
	return { ...taken, spec, errors: [...taken.errors, ...unsaid] };
}

/**
 * A JSON Merge Patch for the apiserver to merge, after a check of each field. Only the apiserver can check the merged
 * fields together. Throws as {@link newSpec}.
 */
export function specPatch(
	{ kind, noun }: ApiResource,
	{ name: newName, labels, ...fields }: JsonObject,
	name: string,
): JsonObject {
	const details = [
		...renameErrors(newName, name),
		...labelErrors(labels, true),
		...patchErrors(kind.kind, fields),
	];
	if (details.length > 0) throw invalid(noun, details);
	return {
		spec: fields,
		...(labels !== undefined && { metadata: { labels } }),
	};
}

const unknown = "is not a known field";
const required = "is required";

/** null may remove any known field, and absent fields are not required. */
function patchErrors(kind: KindWithSpec, patch: JsonObject): ErrorDetail[] {
	const isError = ({ path, message }: ErrorDetail) =>
		message !== unknown &&
		// A patch replaces whole lists, so their items must be complete.
		(message !== required || path.includes("["));
	return [
		...unknownFields(kind, patch),
		...specErrors(kind, withoutNulls(patch)).filter(isError),
	];
}

/** Includes unknown fields set to null, which are gone once the patch is merged. */
function unknownFields(kind: KindWithSpec, patch: JsonObject): ErrorDetail[] {
	return specErrors(kind, patch).filter(({ message }) => message === unknown);
}

function specErrors(kind: KindWithSpec, spec: JsonObject): ErrorDetail[] {
	return [
		...validateSpec(kind, spec).map(flatError),
		...valueErrors(kind, spec),
	];
}

function flatError({ path, message }: SpecError): ErrorDetail {
	return { path: flatPath(path), message };
}

/** Throws a 400 with all errors of a spec that is no resource's body. */
export function requireSpec(
	kind: KindWithSpec,
	noun: string,
	spec: JsonObject,
): void {
	const details = specErrors(kind, spec);
	if (details.length > 0) throw invalid(noun, details);
}

/** Reads a body that is no resource's by its schema in the document. It throws a 400 that names each wrong field. */
export function bodyReader<T>(
	noun: string,
	schema: SchemaObject,
): (body: unknown) => T {
	const errorsOf = schemaValidator(schema);
	return (body) => {
		const details = errorsOf(body).map(flatError);
		if (details.length > 0) throw invalid(noun, details);
		return body as T;
	};
}

function withoutNulls(object: JsonObject): JsonObject {
	return Object.fromEntries(
		Object.entries(object)
			.filter(([, field]) => field !== null)
			.map(([name, field]) => [
				name,
				isObject(field) ? withoutNulls(field) : field,
			]),
	);
}

function renameErrors(newName: unknown, name: string): ErrorDetail[] {
	return newName === undefined || newName === name
		? []
		: [{ path: "name", message: "can't be changed" }];
}

/** What is wrong with the form of a body's labels. What a key and a value may have, the apiserver says. */
function labelErrors(labels: unknown, mayRemove = false): ErrorDetail[] {
	if (labels === undefined) return [];
	if (!isObject(labels))
		return [{ path: "labels", message: "must be an object" }];
	return Object.entries(labels).flatMap(([name, value]) =>
		typeof value === "string" || (mayRemove && value === null)
			? []
			: [{ path: `labels["${name}"]`, message: "must be a string" }],
	);
}

function invalid(noun: string, details: ErrorDetail[]): RequestError {
	return new RequestError(
		"InvalidRequest",
		`The ${noun} is invalid. Correct the fields in details.`,
		{ details },
	);
}

function nameErrors(name: unknown): ErrorDetail[] {
	if (name === undefined) return [];
	if (typeof name === "string" && new RegExp(resourceNamePattern).test(name))
		return [];
	return [
		{
			path: "name",
			message:
				"must have 1 to 40 lower-case letters, digits or '-', and start and end with a letter or digit",
		},
	];
}

function checked(
	{ kind, noun }: ApiResource,
	{ spec, secrets }: { spec: JsonObject; secrets: InlineSecret[] },
	labels: unknown,
	errors: ErrorDetail[],
): WantedSpec {
	const reported = new Set(errors.map(({ path }) => path));
	const details = [
		...errors,
		...specErrors(kind.kind, spec).filter(({ path }) => !reported.has(path)),
	];
	if (details.length > 0) throw invalid(noun, details);
	return {
		spec,
		secrets,
		...(labels !== undefined && { labels: labels as Record<string, string> }),
	};
}

/** JSON Merge Patch (RFC 7396 §2): null removes a member, objects are merged, anything else replaces. Mutates neither. */
export function mergePatch(target: unknown, patch: unknown): unknown {
	if (!isObject(patch)) return patch;
	const merged: JsonObject = { ...(isObject(target) && target) };
	for (const [name, value] of Object.entries(patch))
		if (value === null) delete merged[name];
		else merged[name] = mergePatch(merged[name], value);
	return merged;
}

/** What a view has beside a resource's spec, status and name. */
const head = ["id", "createTime", "updateTime", "managedBy", "generation"];

/** By kind, the fields of a view that only Tidemill and Kubernetes set. */
const readOnlyFields = new Map(
	readResourceSchemas().map(({ kind, schema }) => {
		const { spec, status } = schema.properties!;
		const found = Object.keys(status!.properties!)
			.map(shownName)
			.filter((name) => name !== undefined);
		const written = new Set(Object.keys(spec!.properties!));
		return [kind, new Set([...head, ...found]).difference(written)];
	}),
);

/** Whether a body has fields that only Tidemill and Kubernetes set. */
export function hasReadOnly(kind: string, body: JsonObject): boolean {
	const names = readOnlyFields.get(kind)!;
	return Object.keys(body).some((name) => names.has(name));
}

/**
 * A body without its read-only fields, so that what a GET answered can be edited and sent back. One that the caller changed
 * is an error. In a body of an earlier version, the operator may have changed them since that GET.
 * @param current The resource's current view; of a new resource, undefined.
 */
function withoutReadOnly(
	kind: string,
	body: JsonObject,
	current: JsonObject | undefined,
): { fields: JsonObject; errors: ErrorDetail[] } {
	const names = readOnlyFields.get(kind)!;
	const isOlder =
		current &&
		versions.some((name) => body[name] && body[name] !== current[name]);
	const [fields, readOnly] = [true, false].map((isWritable) =>
		Object.entries(body).filter(([name]) => names.has(name) !== isWritable),
	);
	const errors = readOnly!
		.filter(
			([name, value]) =>
				!isOlder &&
				!(current && isDeepStrictEqual(value ?? undefined, current[name])),
		)
		.map(([path]) => ({ path, message: problem }));
	return { fields: Object.fromEntries(fields!), errors };
}

/** Times have whole seconds, so that two changes may share one. */
const versions = ["updateTime", "generation"];

const problem = "is read-only: omit it, or send it as GET answers it";

/** The name of a resource: an RFC 1123 label of at most 40 characters, as in the CRDs' rules. */
export const resourceNamePattern = "^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$";

/** Leaves room for `-` and a suffix of six characters. */
const maxStemLength = 33;

/**
 * Derives the name of a resource from its display name, or from `fallback` if the display name has no letter or digit that
 * a name may have.
 */
export function resourceName(
	displayName: unknown,
	fallback: string,
	suffix?: string,
): string {
	const stem = typeof displayName === "string" ? stemOf(displayName) : "";
	return [stem || fallback, suffix].filter(Boolean).join("-");
}

function stemOf(displayName: string): string {
	return (
		displayName
			// Separates accents from their letters, to drop them: é → e.
			.normalize("NFKD")
			.replaceAll(/\p{M}/gu, "")
			.toLowerCase()
			.replaceAll(/[^a-z0-9]+/g, "-")
			.slice(0, maxStemLength)
			.replaceAll(/^-|-$/g, "")
	);
}
