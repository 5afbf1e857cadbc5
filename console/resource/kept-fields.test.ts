import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { warehouses } from "../../packages/warehouses/registry.ts";
import { fieldsOf, withType as withWarehouse } from "../destinations/form.ts";
import {
	bodyColumns,
	withBodyColumns,
	withColumn,
	withEventTypes,
	withEvolve,
	withIntegrationName,
	withLatestBy,
	withMatch,
	withPerEventType,
	withToldType,
	withType,
} from "../pipelines/form.ts";
import { withScheduleType } from "../pipelines/schedule.ts";
import { withFrozenColumns } from "../pipelines/table-columns.ts";
import { withAuthorization, withProvider } from "../sources/source-form.ts";
import {
	type Draft,
	draftOf,
	type FormKind,
	isObject,
	isSpecField,
	type PlainObject,
	withField,
} from "./draft.ts";
import { manifestOf, readManifest } from "./manifest.ts";

interface Schema {
	type?: string;
	enum?: string[];
	properties?: Record<string, Schema>;
	items?: Schema;
	additionalProperties?: Schema;
}

/** A resource with every field that its CRD has, also those that the API takes only without others. */
function wholeOf(kind: FormKind): { draft: Draft; status: PlainObject } {
	const file = `../../charts/tidemill/files/crds/${kind.toLowerCase()}s.yaml`;
	const { spec, status } = parse(
		readFileSync(join(import.meta.dirname, file), "utf8"),
	).spec.versions[0].schema.openAPIV3Schema.properties;
	return {
		draft: { name: "whole", spec: example(spec) as PlainObject },
		status: example(status) as PlainObject,
	};
}

function example(schema: Schema): unknown {
	const { type, properties, items, additionalProperties } = schema;
	if (schema.enum) return schema.enum[0];
	if (properties)
		return Object.fromEntries(
			Object.entries(properties).map(([name, one]) => [name, example(one)]),
		);
	if (items) return [example(items)];
	if (additionalProperties) return { key: example(additionalProperties) };
	return type === "boolean" ? true : type === "integer" ? 7 : "text";
}

/** The paths of all values. Those in lists have their place. */
function pathsOf(value: unknown, path = ""): string[] {
	const inner = Array.isArray(value)
		? value.map((one, at) => [`[${at}]`, one] as const)
		: isObject(value)
			? Object.entries(value).map(([key, one]) => [`.${key}`, one] as const)
			: [];
	return inner.length === 0
		? [path]
		: inner.flatMap(([step, one]) => pathsOf(one, `${path}${step}`));
}

/** What the edit has taken away, but for the fields that it is about. */
function lost(before: Draft, after: Draft, about: RegExp): string[] {
	const left = new Set(pathsOf(after.spec));
	return pathsOf(before.spec).filter(
		(path) => !left.has(path) && !about.test(path),
	);
}

const pipeline = wholeOf("Pipeline").draft;
const source = wholeOf("Source").draft;
const destination = wholeOf("Destination").draft;
const nothing = /^$/;

describe.each(["Pipeline", "Source", "Destination"] as const)(
	"a %s with every field of its CRD",
	(kind) => {
		const { draft, status } = wholeOf(kind);

		test("is the same after its YAML is pasted", () => {
			expect(pathsOf(draft.spec).length).toBeGreaterThan(10);
			expect(readManifest(kind, manifestOf(kind, draft))).toEqual({
				draft,
				notes: [],
			});
		});

		test("is in its form as the API shows it, and nothing of its status is", () => {
			const view = { name: "whole", ...status, ...draft.spec };
			expect(draftOf(kind, view)).toEqual(draft);
			// The CRD has a default for these: the spec always has them, and wins over the status.
			const both = Object.keys(status).filter((one) => isSpecField(kind, one));
			expect(both).toEqual(kind === "Pipeline" ? ["schedule"] : []);
		});
	},
);

test.each<[field: string, edited: Draft, about: RegExp]>([
	["the name", withIntegrationName(pipeline, "other", false), nothing],
	["event types", withEventTypes(pipeline, "push\nping"), nothing],
	["a table for each event type", withPerEventType(pipeline, true), nothing],
	[
		"one table again",
		withPerEventType(pipeline, false),
		/^\.table\.(perEventType|maxEventTypes|eventType)\b/,
	],
	["a column", withColumn(pipeline, "Run", true), nothing],
	[
		"a column from the body",
		withBodyColumns(pipeline, [
			...bodyColumns(pipeline),
			{ name: "b", bodyPointer: "/b" },
		]),
		nothing,
	],
	[
		"a column's type",
		withBodyColumns(
			pipeline,
			bodyColumns(pipeline).map((column) => withType(column, "String")),
		),
		/^\.table\.bodyColumns\[0\]\.(precision|scale|format|timeZone)$/,
	],
	["columns that follow events", withEvolve(pipeline, true), nothing],
	[
		"frozen columns",
		withFrozenColumns(pipeline, undefined),
		/^\.table\.schema$/,
	],
	[
		"rejected values",
		withField(pipeline, "table.rejectedValues", true),
		nothing,
	],
	[
		"what happens to events in quarantine",
		withField(pipeline, "table.quarantine", undefined),
		/^\.table\.quarantine$/,
	],
	["a value of the body", withMatch(pipeline, "equals", "paid"), nothing],
	["what is told", withToldType(pipeline, "RunLate", true), nothing],
	[
		"whom it is told",
		withField(pipeline, "notify.secretRefs", [{ name: "pager" }]),
		nothing,
	],
	["a key", withLatestBy(pipeline, "order_id", true), nothing],
	[
		"a date",
		withField(pipeline, "dateRange.end", undefined),
		/^\.dateRange\.end$/,
	],
	["the schedule", withScheduleType(pipeline, "Daily"), /^\.schedule\./],
])(
	"a Pipeline keeps its other fields when somebody changes %s",
	(_, edited, about) => {
		expect(lost(pipeline, edited, about)).toEqual([]);
	},
);

test("a Destination keeps its other fields when somebody changes one, or its type", () => {
	const ofWarehouses = [...warehouses.values()].map(({ member }) => member);
	const members = new RegExp(`^\\.(${ofWarehouses.join("|")})\\.`);
	for (const type of warehouses.keys()) {
		expect(
			lost(destination, withWarehouse(destination, type), members),
		).toEqual([]);
		for (const [path] of fieldsOf(type))
			expect(
				lost(
					destination,
					withField(destination, path, undefined),
					new RegExp(`^\\.${path}$`),
				),
			).toEqual([]);
	}
});

test("a Source keeps its other fields when somebody changes its scheme, its authorization or the provider", () => {
	expect(
		lost(
			source,
			withAuthorization(source, "Signature", { scheme: "Slack" }),
			/^\.webhook\.authorization\.(customToken|amazonSNS|jwt|signature\.custom)\./,
		),
	).toEqual([]);
	expect(
		lost(
			source,
			withAuthorization(source, "None"),
			/^\.webhook\.authorization\./,
		),
	).toEqual([]);
	expect(
		lost(
			source,
			withProvider(withProvider(source, "github", ""), "form", "github"),
			/^\.webhook\.(authorization|idempotency)\./,
		),
	).toEqual([]);
});
