import { type Kind, validateSpec } from "../../crds/spec-validator.ts";
import { type ErrorDetail, flatPath, RequestError } from "../errors.ts";
import type { ApiResource } from "./api-resource.ts";
import { isObject, type JsonObject, mergePatch } from "./merge-patch.ts";
import { resourceNamePattern } from "./resource-name.ts";
import { type InlineSecret, takeSecrets } from "./secret-fields.ts";

/** What is to be written: a spec that the CRD's schema allows, and the Secrets that it refers to. */
export interface WantedSpec {
	spec: object;
	secrets: InlineSecret[];
}

/** The body as a JSON object, or throws. */
export function requireObject(body: unknown): JsonObject {
	if (isObject(body)) return body;
	throw new RequestError("InvalidRequest", "The body must be a JSON object.");
}

/** Of a body that makes a resource. Throws {@link RequestError} with everything that is wrong by name and schema. */
export function newSpec(
	resource: ApiResource,
	body: JsonObject,
	name: string,
): WantedSpec {
	const { name: _, ...fields } = body;
	const taken = takeSecrets(resource.secretFields, fields, name);
	return checked(resource, taken.body, taken.secrets, [
		...nameErrors(body.name),
		...taken.errors,
	]);
}

/** Of a JSON Merge Patch to a resource's spec as it is. Throws as {@link newSpec}. */
export function changedSpec(
	resource: ApiResource,
	spec: object,
	patch: JsonObject,
	name: string,
): WantedSpec {
	const { name: newName = name, ...fields } = patch;
	const taken = takeSecrets(resource.secretFields, fields, name);
	const merged = mergePatch(spec, taken.body) as JsonObject;
	return checked(resource, merged, taken.secrets, [
		...renameErrors(newName, name),
		...taken.errors,
		...unknownFields(resource.kind.kind, taken.body),
	]);
}

/**
 * A JSON Merge Patch that the apiserver may merge by itself, since each field in it can be so; whether all fields
 * together can, only the apiserver knows then. Throws as {@link newSpec}.
 */
export function specPatch(
	{ kind, noun }: ApiResource,
	patch: JsonObject,
	name: string,
): JsonObject {
	const { name: newName = name, ...fields } = patch;
	const details = [
		...renameErrors(newName, name),
		...patchErrors(kind.kind, fields),
	];
	if (details.length > 0) throw invalid(noun, details);
	return fields;
}

const unknown = "is not a known field";
const required = "is required";

/** null removes a field, if there is such a one; what is not there stays as it is. */
function patchErrors(kind: Kind, patch: JsonObject): ErrorDetail[] {
	const isOfPatch = ({ path, message }: ErrorDetail) =>
		message !== unknown &&
		// A list is replaced as a whole: what stands in it must be whole.
		(message !== required || path.includes("["));
	return [
		...unknownFields(kind, patch),
		...specErrors(kind, withoutNulls(patch)).filter(isOfPatch),
	];
}

/** Those that are null, too, of which nothing is left once the patch is merged. */
function unknownFields(kind: Kind, patch: unknown): ErrorDetail[] {
	return specErrors(kind, patch).filter(({ message }) => message === unknown);
}

function specErrors(kind: Kind, spec: unknown): ErrorDetail[] {
	return validateSpec(kind, spec).map(({ path, message }) => ({
		path: flatPath(path),
		message,
	}));
}

function withoutNulls(value: unknown): unknown {
	if (!isObject(value)) return value;
	return Object.fromEntries(
		Object.entries(value)
			.filter(([, field]) => field !== null)
			.map(([name, field]) => [name, withoutNulls(field)]),
	);
}

function renameErrors(newName: unknown, name: string): ErrorDetail[] {
	return newName === name
		? []
		: [{ path: "name", message: "can't be changed" }];
}

function invalid(noun: string, details: ErrorDetail[]): RequestError {
	return new RequestError(
		"InvalidRequest",
		`The ${noun} can't be so. Correct the fields in details.`,
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
				"must have 1 to 40 lower-case letters, digits and '-', and begin and end with a letter or digit",
		},
	];
}

function checked(
	{ kind, noun }: ApiResource,
	spec: JsonObject,
	secrets: InlineSecret[],
	errors: ErrorDetail[],
): WantedSpec {
	const told = new Set(errors.map(({ path }) => path));
	const details = [
		...errors,
		...specErrors(kind.kind, spec).filter(({ path }) => !told.has(path)),
	];
	if (details.length > 0) throw invalid(noun, details);
	return { spec, secrets };
}
