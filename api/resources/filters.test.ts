import { expect, test } from "vitest";
import { readResourceSchemas } from "../../crds/resource-schema.ts";
import { runFilters } from "../runs/runs.ts";
import { apiResources } from "./api-resource.ts";
import { selectorsOf } from "./page.ts";

test("filters become selectors of the apiserver", () => {
	expect(
		selectorsOf(runFilters, {
			pipeline: "orders",
			status: "Failed",
			labelSelector: "team=shop",
			limit: "5",
		}),
	).toEqual({
		fieldSelector: "spec.pipelineRef.name=orders,status.phase=Failed",
		labelSelector: "team=shop",
	});
	expect(selectorsOf(runFilters, {})).toEqual({});
});

test.each([
	[
		"status",
		"failed",
		'must be one of Pending, Running, Succeeded, Failed, Cancelled, not "failed"',
	],
	["status", "Failed,spec.x=y", /^must be one of/],
	[
		"pipeline",
		"a,spec.x=y",
		'must be the name of a pipeline, not "a,spec.x=y"',
	],
	["pipeline", "", /^must be the name/],
])("the filter %s of %j is refused", (path, value, message) => {
	expect(() => selectorsOf(runFilters, { [path]: value })).toThrow(
		expect.objectContaining({
			details: [
				{
					path,
					message:
						typeof message === "string"
							? message
							: expect.stringMatching(message),
				},
			],
		}),
	);
});

const schemas = new Map(
	readResourceSchemas().map(({ kind, schema }) => [kind, schema.properties!]),
);

test.each([
	...apiResources.map(({ kind, filters }) => [kind.kind, filters] as const),
	["Run", runFilters] as const,
])("the filters of %s have the values that its CRD names", (kind, filters) => {
	const { spec, status } = schemas.get(kind)!;
	const phases = status!.properties!.phase?.description ?? "";
	expect(filters.status?.values).toEqual(
		phases
			? [...phases.matchAll(/`(\w+)`/g)].map(([, name]) => name)
			: undefined,
	);
	expect(filters.type?.values).toEqual(
		filters.type && spec!.properties!.type!.enum,
	);
});
