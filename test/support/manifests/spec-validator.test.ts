import { expect, test } from "vitest";
import { readResourceSchemas } from "../../../crds/resource-schema.ts";
import { brokenBounds } from "./broken-bounds.ts";
import { readAcceptedManifests } from "./manifest.ts";
import { validateSpec } from "./spec-validator.ts";

const accepted = readAcceptedManifests();

test("a manifest beyond any bound of any field is refused", () => {
	for (const { kind, spec } of accepted)
		expect(validateSpec(kind, spec)).toEqual([]);
	const taken = brokenBounds(readResourceSchemas(), accepted)
		.filter(({ manifest: { kind, spec } }) => !validateSpec(kind, spec).length)
		.map(({ bound }) => bound);
	expect(taken).toEqual([]);
});

test("an error is at the field's path", () => {
	const spec = { sourceRef: {}, table: { columns: ["EventID", 1] }, more: 1 };
	const paths = validateSpec("Pipeline", spec).map(({ path }) => path);
	expect([...new Set(paths)].sort()).toEqual([
		...["spec.destinationRef", "spec.more", "spec.sourceRef.name"],
		"spec.table.columns[1]",
	]);
});
