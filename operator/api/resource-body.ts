import { validateSpec } from "../../crds/spec-validator.ts";
import type { ApiResource } from "./api-resource.ts";
import { type ErrorDetail, flatPath, RequestError } from "./errors.ts";
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
		...(newName === name
			? []
			: [{ path: "name", message: "can't be changed" }]),
		...taken.errors,
	]);
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
	const details = [
		...errors,
		...validateSpec(kind.kind, spec).map(({ path, message }) => ({
			path: flatPath(path),
			message,
		})),
	];
	if (details.length > 0)
		throw new RequestError(
			"InvalidRequest",
			`The ${noun} can't be so. Correct the fields in details.`,
			{ details },
		);
	return { spec, secrets };
}
