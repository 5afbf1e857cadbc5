import { patternWords } from "../../crds/pattern-words.ts";
import {
	readResourceSchemas,
	type Schema,
} from "../../crds/resource-schema.ts";
import type { KubeApiError } from "../../packages/kube/client/errors.ts";
import { didYouMean } from "../../packages/service/nearest.ts";
import { type ErrorDetail, flatPath, maxDetails } from "./errors.ts";

/**
 * What is wrong with which fields of a write, in words for people, from the apiserver's answer (metav1.Status). Empty if it
 * refuses the write for another reason. No free text of a field is repeated: it may be a secret.
 * @param beside Paths of fields that the request may have beside the CRD's.
 */
export function refusedFields(
	refusal: Refusal,
	beside: readonly string[] = [],
): ErrorDetail[] {
	const unknown = unknownPaths(refusal).map((path) =>
		unknownField(path, crdOf(refusal), beside),
	);
	// Of a wrong type nothing else need be said.
	const mistyped = new Set<string>();
	const wrong = causesOf(refusal).flatMap(({ field, message = "" }) => {
		if (mistyped.has(field) || isOfNoField(field, message)) return [];
		if (message.includes(ofType)) mistyped.add(field);
		// The apiserver calls the root of an object "<nil>".
		const path = field === "<nil>" ? "" : flatPath(field);
		return [{ path, message: plain(field, message) }];
	});
	return [...unknown, ...wrong];
}

type Refusal = Pick<KubeApiError, "message" | "details" | "request">;

/** With `fieldValidation=Strict` the apiserver says no more than this (k8s.io/apimachinery `strictDecodingError`). */
const strictly = /strict decoding error: (.*)$/s;
/** Of a patch it is one error of the field "patch", after the whole object as a Go string. Nothing in that is the apiserver's word. */
const strictlyOfPatch =
	/^Invalid value: "[^"\\]*(?:\\.[^"\\]*)*": strict decoding error: (.*)$/s;
const ofType = " in body must be of type ";
/** Remarks of the apiserver beside errors of fields. */
const remarks =
	/some validation rules were not checked|must validate at least one schema \(anyOf\)$|: Checked value must be of type /;

function isOfNoField(field: string, message: string): boolean {
	return field === "patch"
		? strictlyOfPatch.test(message)
		: field === "<nil>" && remarks.test(message);
}

/** Whether the message may have values of the object, also such as the caller may not read. */
export function quotesObject(refusal: Refusal): boolean {
	return causesOf(refusal).length > 0 || strictly.test(refusal.message);
}

/** Whether the apiserver has looked at nothing but the fields' names. */
export function isUnknownFields(refusal: Refusal): boolean {
	return unknownPaths(refusal).length > 0;
}

/** No more than an answer tells, and one. */
function unknownPaths(refusal: Refusal): string[] {
	const causes = causesOf(refusal);
	const ofPatch = causes.find(({ field }) => field === "patch");
	const [, said = ""] =
		(causes.length === 0
			? strictly.exec(refusal.message)
			: strictlyOfPatch.exec(ofPatch?.message ?? "")) ?? [];
	return said
		.split(/, (?=(?:unknown|duplicate) field ")/)
		.flatMap((one) => /^unknown field "(.*)"/s.exec(one)?.[1] ?? [])
		.slice(0, maxDetails + 1);
}

/** Those about a field: a webhook that fails, or a policy that denies, is a cause, too. */
function causesOf({ details }: Refusal): { field: string; message?: string }[] {
	const causes: { field?: string; message?: string }[] =
		(details as { causes?: [] } | undefined)?.causes ?? [];
	return causes.flatMap(({ field, ...rest }) =>
		field === undefined ? [] : [{ field, ...rest }],
	);
}

function crdOf({ request }: Refusal): Schema | undefined {
	// /apis/<group>/<version>/namespaces/<namespace>/<plural>
	const plural = request?.path.split("/")[6];
	return readResourceSchemas().find((crd) => crd.plural === plural)?.schema;
}

/** Says that there is no such field, and which of those beside it has nearly its name. */
export function unknownField(
	path: string,
	crd: Schema | undefined,
	beside: readonly string[],
): ErrorDetail {
	const [, parent = "", name = ""] = /^(.*)\.(.*)$/s.exec(path) ?? [];
	const schema = parent
		.split(/\.|(?=\[)/)
		.reduce((at: Schema | undefined, step) => fieldOf(at, step), crd);
	const names = [
		...Object.keys(schema?.properties ?? {}),
		...beside
			.filter((known) => known.startsWith(`${parent}.`))
			.map((known) => known.slice(parent.length + 1)),
	];
	const meant = didYouMean(name, names);
	return {
		path: flatPath(path),
		message: `is not a known field${meant && `.${meant}`}`,
	};
}

/** @param step A name, or an index in brackets. */
export function fieldOf(
	schema: Schema | undefined,
	step: string,
): Schema | undefined {
	if (step.startsWith("[")) return schema?.items;
	const { properties = {}, additionalProperties } = schema ?? {};
	return Object.hasOwn(properties, step)
		? properties[step]
		: additionalProperties;
}

/**
 * The apiserver puts the kind of error and the value before the message (k8s.io/apimachinery field.Error), and kube-openapi the
 * field. Their own words alone are searched: the sender's may be long, and say the same as those a thousand times.
 */
function plain(field: string, message: string): string {
	const given = /^Invalid value: "[^"\\]*(?:\\.[^"\\]*)*": /s;
	const ofField = message.replace(given, "");
	const said = ofField.startsWith(`${field} in body `)
		? ofField.slice(field.length)
		: ofField;
	for (const [pattern, words] of forms) {
		const found = pattern.exec(said);
		if (found) return words(...found.slice(1));
	}
	return said.replace(/^Invalid value: ([^\s:]+: )?/, "");
}

/** Of kube-openapi's validation and of field.Error. */
const forms: [RegExp, (...found: string[]) => string][] = [
	[/^Required value/, () => "is required"],
	[
		/^Unsupported value: (.*): supported values: (.*)$/s,
		(given, supported) =>
			`must be one of ${supported!.slice(1, -1).replaceAll('", "', ", ")}${given!.length > 40 ? "" : `, not ${given}`}`,
	],
	// First, since it ends with the value of a date.
	[
		/ in body must be of type (.*?): "(.*)"$/s,
		(type, given) =>
			formats[type!] ?? `must be ${typeNames(type!)}, not ${typeNames(given!)}`,
	],
	[
		/ in body should match '(.*)'$/s,
		(pattern) => patternWords(pattern!) ?? "is not valid",
	],
	[
		/: (\S+): \S+ in body should be (less|greater) than or equal to (\S+)$/,
		(given, bound, limit) =>
			`must be at ${bound === "less" ? "most" : "least"} ${limit}, not ${given}`,
	],
	[
		/ in body should be at least (\d+) chars long$/,
		(count) => atLeast(count!, "characters"),
	],
	[
		/ in body should have at least (\d+) items$/,
		(count) => atLeast(count!, "items"),
	],
	[
		/^Too long: may not be more than (\d+) \w+$/,
		(count) => `must have at most ${count} characters`,
	],
	[
		/^Too many: (\d+): must have at most (\d+) items$/,
		(given, count) => `must have at most ${count} items, not ${given}`,
	],
	[/^Duplicate value/, () => "is there twice"],
];

function atLeast(count: string, what: string): string {
	return count === "1"
		? "must not be empty"
		: `must have at least ${count} ${what}`;
}

const formats: Record<string, string> = {
	date: "must be a date such as 2026-01-31",
	"date-time": "must be a date and time such as 2026-01-31T00:00:00Z",
};

function typeNames(types: string): string {
	return types
		.split(",")
		.map((type) => names[type] ?? `a ${type}`)
		.join(" or ");
}

const wholeNumber = "a whole number";
const names: Record<string, string> = {
	object: "an object",
	array: "a list",
	integer: wholeNumber,
	int32: wholeNumber,
	int64: wholeNumber,
	float64: "a number with a fraction",
};
