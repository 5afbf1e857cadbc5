import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { completionsAt, placeAt } from "./completion.ts";

const crd = parse(
	readFileSync(
		join(
			import.meta.dirname,
			"../../charts/tidemill/files/crds/trackingplans.yaml",
		),
		"utf8",
	),
).spec.versions[0].schema.openAPIV3Schema;

/** `|` is where somebody writes. */
function offered(text: string): string[] {
	const offset = text.indexOf("|");
	const place = placeAt(text.replace("|", ""), offset);
	return completionsAt(crd, "TrackingPlan", place).map(({ label }) => label);
}

test.each<[string, string, string[]]>([
	["the root", "|", ["apiVersion", "kind", "metadata", "spec"]],
	["the kind", "kind: |", ["TrackingPlan"]],
	[
		"a field of an object",
		"spec:\n  eventType:\n    |",
		["bodyPointer", "header", "constant"],
	],
	[
		"a policy",
		"spec:\n  onViolation: Qu|",
		["Allow", "Annotate", "Quarantine", "Reject"],
	],
	[
		"an item of a list",
		"spec:\n  events:\n    - |",
		["type", "description", "schema", "schemaFrom"],
	],
	[
		"the second field of an item",
		"spec:\n  events:\n    - type: a\n      |",
		["type", "description", "schema", "schemaFrom"],
	],
	[
		"an item that is not indented",
		"spec:\n  events:\n  - type: a\n    |",
		["type", "description", "schema", "schemaFrom"],
	],
	[
		"the names of properties, which are people's own",
		"spec:\n  common:\n    properties:\n      |",
		[],
	],
])("%s", (_about, text, labels) => {
	expect(offered(text)).toEqual(labels);
});

test.each([
	"spec:\n  common:\n    |",
	"spec:\n  events:\n    - type: a\n      schema:\n        |",
	"spec:\n  events:\n    - type: a\n      schema:\n        properties:\n          total:\n            |",
	"spec:\n  common:\n    properties:\n      type:\n        items:\n          |",
])("a schema has the keywords of JSON Schema", (text) => {
	expect(offered(text)).toContain("additionalProperties");
});

test("a keyword's values are offered", () => {
	expect(
		offered("spec:\n  common:\n    properties:\n      at:\n        format: |"),
	).toContain("date-time");
	expect(offered("spec:\n  common:\n    type: |")).toContain("object");
});

test("a field of the spec is explained in the words of the CRD", () => {
	const [first] = completionsAt(crd, "TrackingPlan", {
		path: ["spec"],
		word: "",
	});
	expect(first).toEqual({
		label: "displayName",
		apply: "displayName: ",
		detail: "string",
		info: "Name to display.",
	});
});
