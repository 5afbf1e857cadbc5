import { isDeepStrictEqual } from "node:util";
import { readResourceSchemas } from "../../crds/resource-schema.ts";
import { isObject, type JsonObject } from "../http/endpoint.ts";
import type { ErrorDetail } from "../http/errors.ts";
import type { ApiResource, Resource } from "./api-resource.ts";
import {
	type InlineSecret,
	namesOf,
	takeSecrets,
	unsaidAddress,
} from "./secret-fields.ts";
import { valueErrors } from "./spec-values.ts";
import { nullErrors, requireBounded } from "./spec-walk.ts";
import { resourceView, shownName } from "./views.ts";

/** A spec for the apiserver to validate, and the new Secrets that it refers to. */
export interface WantedSpec {
	spec: object;
	secrets: InlineSecret[];
	/** All of them; undefined if they stay as they are. */
	labels?: Record<string, string>;
	/** What is wrong beside what the apiserver finds. */
	errors: ErrorDetail[];
}

/** The spec of a new resource. */
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
	return wantedSpec(resource, taken, takeLabels(labels), [
		...nameErrors(given),
		...errors,
	]);
}

/** What the body of a change makes of the current resource. */
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
	return wantedSpec(resource, taken, takeLabels(labels), [
		...renameErrors(newName, name),
		...errors,
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
	return wantedSpec(resource, taken, takeLabels(labels, known), [
		...renameErrors(newName, name),
		...errors,
	]);
};

/**
 * Takes the secrets out of a body.
 * @param patched The spec that the body is a patch to.
 */
function take(
	resource: ApiResource,
	fields: JsonObject,
	name: string,
	patched?: object,
) {
	const { secretFields } = resource;
	const taken = takeSecrets(secretFields, fields, name, patched !== undefined);
	const spec = (
		patched ? mergePatch(patched, taken.body) : taken.body
	) as JsonObject;
	const unsaid = unsaidAddress(secretFields, fields, spec);
	const ofWalk = walkErrors(resource, taken.body, patched !== undefined);
	return { ...taken, spec, errors: [...taken.errors, ...unsaid, ...ofWalk] };
}

/** A JSON Merge Patch for the apiserver to merge, and what is wrong beside what the apiserver finds. */
export function specPatch(
	resource: ApiResource,
	{ name: newName, labels: given, ...fields }: JsonObject,
	name: string,
): { patch: object; errors: ErrorDetail[] } {
	const errors = labelErrors(given, true);
	const labels = errors.length === 0 ? given : undefined;
	return {
		patch: {
			spec: fields,
			...(labels !== undefined && { metadata: { labels } }),
		},
		errors: [
			...renameErrors(newName, name),
			...errors,
			...walkErrors(resource, fields, true),
			// Without what it removes.
			...valueErrors(resource.kind.kind, mergePatch({}, fields) as JsonObject),
		],
	};
}

/** Throws a 400 if the body has more values than any spec may have. */
function walkErrors(resource: ApiResource, body: JsonObject, isPatch: boolean) {
	const { kind, noun } = resource;
	requireBounded(kind.kind, noun, body);
	return nullErrors(kind.kind, body, isPatch, fieldsBeside(resource));
}

/** Paths of the fields that a body may have beside the CRD's. */
export function fieldsBeside({ secretFields }: ApiResource): string[] {
	return [
		...["spec.name", "spec.labels"],
		...secretFields.flatMap((field) =>
			namesOf(field).map((name) => ["spec", ...field.at, name].join(".")),
		),
	];
}

function renameErrors(newName: unknown, name: string): ErrorDetail[] {
	return newName === undefined || newName === name
		? []
		: [{ path: "name", message: "can't be changed" }];
}

/** The labels that a body wants. @param known Those that it is a patch to. */
function takeLabels(
	labels: unknown,
	known?: object,
): Pick<WantedSpec, "labels" | "errors"> {
	const errors = labelErrors(labels, known !== undefined);
	if (labels === undefined || errors.length > 0) return { errors };
	const all = known ? mergePatch(known, labels) : labels;
	return { labels: all as Record<string, string>, errors };
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

/** What is wrong with the name that a body gives a new resource. */
export function nameErrors(name: unknown): ErrorDetail[] {
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

function wantedSpec(
	{ kind }: ApiResource,
	{ spec, secrets, errors }: ReturnType<typeof take>,
	{ errors: ofLabels, ...labels }: ReturnType<typeof takeLabels>,
	others: ErrorDetail[],
): WantedSpec {
	const found = [...others, ...ofLabels, ...errors];
	const known = new Set(found.map(({ path }) => path));
	return {
		...{ spec, secrets, ...labels },
		errors: [
			...found,
			...valueErrors(kind.kind, spec).filter(({ path }) => !known.has(path)),
		],
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
