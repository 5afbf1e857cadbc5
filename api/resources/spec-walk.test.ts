import { expect, test } from "vitest";
import {
	readResourceSchemas,
	type Schema,
} from "../../crds/resource-schema.ts";
import { readAcceptedManifests } from "../../test/support/manifests/manifest.ts";
import { maxDetails } from "../http/errors.ts";
import { maxValues, nullErrors, requireBounded } from "./spec-walk.ts";

/** How many values a spec of this schema has at most. */
function most({ properties, items, additionalProperties, ...bounds }: Schema) {
	let count = 1;
	for (const field of Object.values(properties ?? {})) count += most(field);
	if (items) count += bounds.maxItems! * most(items);
	if (additionalProperties)
		count += bounds.maxProperties! * most(additionalProperties);
	return count;
}

test.each(readResourceSchemas())(
	"no $kind that its CRD allows has too many values",
	({ schema }) => {
		expect(most(schema.properties!.spec!)).toBeLessThan(maxValues);
	},
);

test("what is wrong in more places is refused at its largest list or object", () => {
	const many = Array.from({ length: maxValues + 1 }, () => ({}));
	const named = Object.fromEntries(many.map((_, index) => [`f${index}`, 0]));
	for (const [spec, path] of [
		[{ table: { columns: many } }, "table.columns"],
		[{ runTemplate: { labels: named } }, "runTemplate.labels"],
		[named, ""],
		[{ table: named }, "table"],
	] as const)
		expect(() => requireBounded("Pipeline", "pipeline", spec)).toThrow(
			expect.objectContaining({
				details: [
					{ path, message: expect.stringMatching(/^has 20001 members/) },
				],
			}),
		);
});

test("a tracking plan's schemas have any number of values", () => {
	const properties = Object.fromEntries(
		Array.from({ length: 50_000 }, (_, index) => [`f${index}`, { type: null }]),
	);
	const plan = { eventType: { constant: "order" }, common: { properties } };
	requireBounded("TrackingPlan", "tracking plan", plan);
	expect(nullErrors("TrackingPlan", plan, false)).toEqual([]);
});

const notNull = "must not be null: leave it out";

test("a whole spec has no field of null", () => {
	for (const { kind, spec } of readAcceptedManifests())
		expect(nullErrors(kind, spec as never, false)).toEqual([]);
	const pipeline = {
		...{
			suspend: null,
			table: { columns: [null], bodyColumns: [{ name: null }] },
		},
		runTemplate: { labels: { team: null } },
		bogus: null,
	};
	expect(nullErrors("Pipeline", pipeline, false)).toEqual(
		[
			...["suspend", "table.columns[0]", "table.bodyColumns[0].name"],
			"runTemplate.labels.team",
		].map((path) => ({ path, message: notNull })),
	);
});

test("a patch removes known fields alone, and none of a list's items", () => {
	const patch = {
		...{
			suspend: null,
			table: { columns: null, bodyColumns: [{ name: null }] },
		},
		runTemplate: { labels: { team: null }, labls: null },
		constructor: null,
	};
	expect(nullErrors("Pipeline", patch, true)).toEqual([
		{ path: "table.bodyColumns[0].name", message: notNull },
		{
			path: "runTemplate.labls",
			message: 'is not a known field. Did you mean "labels"?',
		},
		{ path: "constructor", message: "is not a known field" },
	]);
});

test("of thousands of unknown fields no more are compared than are told", () => {
	const patch = Object.fromEntries(
		Array.from({ length: maxValues }, (_, index) => [
			`overwritePeriodDais${index}`,
			null,
		]),
	);
	expect(nullErrors("Pipeline", patch, true)).toHaveLength(maxDetails + 1);
});
