import { expect, test } from "vitest";
import { maxDetails } from "./errors.ts";
import { refusedFields } from "./refused-fields.ts";

/* What kube-apiserver 1.36.3 answers to writes of Tidemill's resources, word for word. */

const unchecked = {
	field: "<nil>",
	message:
		"Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
};

test.each([
	["spec.sourceRef.name", "Required value", "is required"],
	[
		"spec.table.columns[1]",
		'Unsupported value: "Header": supported values: "EventID", "Timestamp", "Body"',
		'must be one of EventID, Timestamp, Body, not "Header"',
	],
	[
		"spec.dateRange.start",
		'Invalid value: "2026-02-30": spec.dateRange.start in body must be of type date: "2026-02-30"',
		"must be a date such as 2026-01-31",
	],
	[
		"spec.overwritePeriodDays",
		"Invalid value: 31: spec.overwritePeriodDays in body should be less than or equal to 30",
		"must be at most 30, not 31",
	],
	[
		"spec.runHistory.days",
		"Invalid value: -1: spec.runHistory.days in body should be greater than or equal to 1",
		"must be at least 1, not -1",
	],
	[
		"spec.displayName",
		'Invalid value: "integer": spec.displayName in body must be of type string: "integer"',
		"must be a string, not a whole number",
	],
	[
		"spec.table",
		'Invalid value: "string": spec.table in body must be of type object: "string"',
		"must be an object, not a string",
	],
	[
		"spec.table.columns",
		'Invalid value: "object": spec.table.columns in body must be of type array: "object"',
		"must be a list, not an object",
	],
	[
		"spec.suspend",
		'Invalid value: "string": spec.suspend in body must be of type boolean: "string"',
		"must be a boolean, not a string",
	],
	[
		"spec.runTemplate.resources.limits.cpu",
		'Invalid value: "boolean": spec.runTemplate.resources.limits.cpu in body must be of type integer,string: "boolean"',
		"must be a whole number or a string, not a boolean",
	],
	[
		"spec.schedule.updateTime",
		"Invalid value: \"6:30\": spec.schedule.updateTime in body should match '^([01]\\d|2[0-3]):[0-5]\\d$'",
		"must be a time of day such as 06:30",
	],
	[
		"spec.a",
		"Invalid value: \"x\": spec.a in body should match '^new$'",
		"is not valid",
	],
	[
		"spec.displayName",
		"Too long: may not be more than 200 bytes",
		"must have at most 200 characters",
	],
	[
		"spec.webhook.capturedHeaders",
		"Too many: 200: must have at most 20 items",
		"must have at most 20 items, not 200",
	],
	[
		"spec.table.columns",
		"Invalid value: 0: spec.table.columns in body should have at least 1 items",
		"must not be empty",
	],
	[
		"spec.sourceRef.name",
		'Invalid value: "": spec.sourceRef.name in body should be at least 1 chars long',
		"must not be empty",
	],
	[
		"spec.a",
		"Invalid value: 1: spec.a in body should have at least 2 items",
		"must have at least 2 items",
	],
	[
		"spec.a",
		'Invalid value: "x": spec.a in body should be at least 12 chars long',
		"must have at least 12 characters",
	],
	[
		"spec.webhook.capturedHeaders[1]",
		'Duplicate value: "x-a"',
		"is there twice",
	],
	[
		"spec.schedule.interval",
		"Invalid value: interval is required for type Interval and not allowed otherwise; null in a merge patch removes it",
		"interval is required for type Interval and not allowed otherwise; null in a merge patch removes it",
	],
	[
		"spec.duckDB.path",
		'Invalid value: "../\\"x\\": y": path must be relative to the volume',
		"path must be relative to the volume",
	],
])("%s: %j is said as %j", (field, message, words) => {
	const path = field.slice("spec.".length);
	expect(refused([{ field, message }, unchecked])).toEqual([
		{ path, message: words },
	]);
});

test.each([" in body should match '", " in body must be of type string: "])(
	"a date that is nothing but %j, for megabytes, is refused in plain words",
	(text) => {
		const value = JSON.stringify(text.repeat(200_000));
		const field = "spec.dates.start";
		const message = `Invalid value: ${value}: ${field} in body must be of type date: ${value}`;
		expect(refused([{ field, message }])).toEqual([
			{ path: "dates.start", message: "must be a date such as 2026-01-31" },
		]);
	},
);

test("a value that isn't one of a few words is told only if it is short", () => {
	const long = "x".repeat(50);
	const message = `Unsupported value: "${long}": supported values: "a", "b"`;
	expect(refused([{ field: "spec.a", message }])).toEqual([
		{ path: "a", message: "must be one of a, b" },
	]);
});

test("of a field with a wrong type the apiserver says more, which is left out", () => {
	const at = "spec.runTemplate.resources.limits.cpu";
	const causes = [
		{
			field: at,
			message: `Invalid value: "boolean": ${at} in body must be of type integer,string: "boolean"`,
		},
		{
			field: "<nil>",
			message: `Invalid value: "": "${at}" must validate at least one schema (anyOf)`,
		},
		{
			field: at,
			message: `Invalid value: "boolean": ${at} in body must be of type integer: "boolean"`,
		},
		{
			field: "<nil>",
			message:
				'Invalid value: "": Checked value must be of type integer with format int32 in spec.webhook.maxBodyBytes',
		},
		{
			field: at,
			message: 'Unsupported value: 5: supported values: "BigQuery", "DuckDB"',
		},
		unchecked,
	];
	expect(refused(causes)).toEqual([
		{
			path: at.slice("spec.".length),
			message: "must be a whole number or a string, not a boolean",
		},
	]);
});

const path = "/apis/tidemill.dev/v1alpha1/namespaces/shop/pipelines";
const request = { method: "POST", path };
const unknown =
	'strict decoding error: unknown field "spec.", unknown field "spec.lables", unknown field "spec.table.a"b", unknown field "spec.table.bodyColumns[0].typ", unknown field "spec.table.colums", unknown field "spec.constructor"';
const said = [
	{ path: "", message: "is not a known field" },
	{ path: "lables", message: 'is not a known field. Did you mean "labels"?' },
	{ path: 'table.a"b', message: "is not a known field" },
	{
		path: "table.bodyColumns[0].typ",
		message: 'is not a known field. Did you mean "type"?',
	},
	{
		path: "table.colums",
		message: 'is not a known field. Did you mean "columns"?',
	},
	{ path: "constructor", message: "is not a known field" },
];

test("each unknown field is named with the known one that has nearly its name", () => {
	const message = `Pipeline in version "v1alpha1" cannot be handled as a Pipeline: ${unknown}`;
	expect(
		refusedFields({ message, details: {}, request }, ["spec.labels"]),
	).toEqual(said);
});

test("a patch's unknown fields are named without the object, which the apiserver quotes", () => {
	const spec = { displayName: 'a "strict decoding error: hush' };
	expect(refusedFields(ofPatch(spec, unknown), ["spec.labels"])).toEqual(said);
});

test.each(["strict decoding error: x", 'a": strict decoding error: x'])(
	"an unknown field %j of a new object or a patch is named, whatever its name says",
	(name) => {
		const unknown = `strict decoding error: unknown field "spec.${name}"`;
		const message = `Pipeline in version "v1alpha1" cannot be handled as a Pipeline: ${unknown}`;
		for (const refusal of [
			ofPatch({ [name]: 1, displayName: "hush" }, unknown),
			{ message, details: {}, request },
		])
			expect(refusedFields(refusal)).toEqual([
				{ path: name, message: "is not a known field" },
			]);
	},
);

test("a patched object of any length is read past", () => {
	const spec = { displayName: '"\\'.repeat(500_000) };
	const unknown = 'strict decoding error: unknown field "spec.b"';
	expect(refusedFields(ofPatch(spec, unknown))).toEqual([
		{ path: "b", message: "is not a known field" },
	]);
});

test("of thousands of unknown fields no more are compared than are told", () => {
	const many = Array.from(
		{ length: 100_000 },
		(_, index) => `unknown field "spec.overwritePeriodDais${index}"`,
	).join(", ");
	expect(
		refusedFields(ofPatch({}, `strict decoding error: ${many}`)),
	).toHaveLength(maxDetails + 1);
});

test("a name that says what the apiserver says of unknown fields is none", () => {
	const key = 'a: strict decoding error: unknown field "spec.x"';
	const field = `spec.runTemplate.labels.${key}`;
	const message = `Invalid value: "integer": ${field} in body must be of type string: "integer"`;
	expect(
		refusedFields({
			message: `Pipeline "x" is invalid: ${field}: ${message}`,
			details: { causes: [{ field, message }] },
			request,
		}),
	).toEqual([
		{
			path: `runTemplate.labels.${key}`,
			message: "must be a string, not a whole number",
		},
	]);
});

test("an admission webhook that fails is no wrong field", () => {
	const message = 'failed calling webhook "policy.example.com": out of order';
	const details = { causes: [{ message }] };
	expect(refusedFields({ message, details, request })).toEqual([]);
});

/** @param unknown What the apiserver says after it has quoted the object. */
function ofPatch(spec: object, unknown: string) {
	const quoted = JSON.stringify(JSON.stringify({ spec }));
	const message = `Invalid value: ${quoted}: ${unknown}`;
	return {
		message: ` "" is invalid: patch: ${message}`,
		details: { causes: [{ field: "patch", message }] },
		request: { method: "PATCH", path: `${path}/orders` },
	};
}

function refused(causes: { field: string; message: string }[]) {
	return refusedFields({ message: "is invalid", details: { causes }, request });
}
