/**
 * Where plans differ from JSON Schema's drafts: each case of the official test suite that is validated otherwise, with the reason.
 * packages/tracking-plan/vectors.all.test.ts holds it to be complete, and docs/reference/json-schema.md is generated from it.
 */
export interface SchemaException {
	what: string;
	reason: string;
	/** Files of the suite. */
	files: string[];
	/** Beginnings of their groups' descriptions; absent for all. */
	groups?: string[];
}

const unevaluated = ["unevaluatedItems", "unevaluatedProperties"];

export const schemaExceptions: SchemaException[] = [
	{
		what: "`$ref` to a schema outside the plan",
		reason:
			"Tidemill fetches nothing: such a plan is invalid. The drafts' own schemas are there.",
		files: ["refRemote"],
	},
	{
		what: "`$schema` with a dialect of one's own, and `$vocabulary`",
		reason:
			"A plan has schemas of the three drafts only: with another `$schema` it is invalid.",
		files: ["vocabulary"],
	},
	{
		what: "`$dynamicRef` and `$dynamicAnchor` across schemas with an `$id`",
		reason:
			"They work within one schema, as `#name`, which recursive schemas need; ajv doesn't follow the dynamic scope further.",
		files: ["dynamicRef", ...unevaluated],
		groups: [
			"A $dynamicRef",
			"An $anchor with the same name",
			"multiple dynamic paths",
			"after leaving a dynamic scope",
			"strict-tree schema",
			"tests for implementation dynamic anchor",
			"$ref and $dynamicAnchor",
			"$ref to $dynamicRef",
			"$dynamicRef points to a boolean schema",
			"$dynamicRef skips over",
			"unevaluatedItems with $dynamicRef",
			"unevaluatedProperties with $dynamicRef",
		],
	},
	{
		what: "`$recursiveRef` to a schema with an `$id` and without `$recursiveAnchor`",
		reason: "It leads to the outermost schema instead.",
		files: ["recursiveRef"],
		groups: ["$recursiveRef with no $recursiveAnchor in the initial target"],
	},
	{
		what: "A `$ref` to an embedded schema whose `$id` is relative, or a URN, and that itself has references with pointers",
		reason:
			"The plan is invalid. Put what is referred to into `$defs` instead.",
		files: ["ref"],
		groups: [
			"refs with relative uris and defs",
			"relative refs with absolute uris and defs",
			"URN ref with nested pointer ref",
		],
	},
	{
		what: "`unevaluatedItems` and `unevaluatedProperties` beside `if` without `then`, `contains`, or nested `items`",
		reason:
			"What `if` alone, `contains` or another schema's `items` has evaluated doesn't always count.",
		files: unevaluated,
		groups: [
			"unevaluatedItems with nested items",
			"unevaluatedItems depends on",
			"unevaluatedItems and contains interact",
			"unevaluatedItems can see annotations from if",
			"unevaluatedProperties with if/then/else, then not defined",
			"unevaluatedProperties can see annotations from if",
		],
	},
	{
		what: "`format` in 2020-12",
		reason:
			"It validates in every draft, since people who write it mean it. The drafts of 2019 and 2020 make it an annotation unless asked otherwise.",
		files: ["format"],
	},
	{
		what: "The formats `idn-email`, `idn-hostname`, `iri` and `iri-reference`",
		reason: "They are annotations, and validate nothing.",
		files: ["idn-email", "idn-hostname", "iri", "iri-reference"].map(
			(name) => `optional/format/${name}`,
		),
	},
	{
		what: "`email` with a quoted local part or an address in brackets",
		reason: "Such addresses don't match.",
		files: ["optional/format/email"],
	},
	{
		what: "A schema for the property `__proto__`",
		reason: "It validates nothing.",
		files: ["properties"],
		groups: ["properties whose names are Javascript object property names"],
	},
];
