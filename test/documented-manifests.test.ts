import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
// yaml: reads YAML 1.2 to the letter.
import { parse, parseAllDocuments } from "yaml";

import { documented } from "./support/examples/documented.ts";
import { validateSpec } from "./support/manifests/spec-validator.ts";

/* Each resource, part of one and value of the chart that a page has people write is one that the schemas take. */

interface Manifest {
	apiVersion?: string;
	kind?: string;
	spec?: object;
}

const refs = { sourceRef: { name: "shop" }, destinationRef: { name: "lake" } };

/** The kind and the whole spec of what a page shows, maybe in part. Nothing if it is of others. */
function specOf(shown: Manifest): [string, object] | undefined {
	const { apiVersion = "tidemill.dev/v1alpha1", kind, spec } = shown;
	if (!apiVersion.startsWith("tidemill.dev/")) return;
	if (Array.isArray(shown))
		return ["Pipeline", { ...refs, table: { bodyColumns: shown } }];
	if (kind === "Pipeline") return [kind, { ...refs, ...spec }];
	if (kind !== undefined) return [kind, spec!];
	if (spec !== undefined) return ["TrackingPlan", spec];
	return ["Pipeline", { ...refs, ...shown }];
}

describe.each(
	documented(
		"{docs/*,docs/reference/{columns,senders,tables},docs/senders/*}.md yaml",
	).filter(({ text }) => /^(apiVersion|kind|spec|table|filter|-)\b/.test(text)),
)("$page, $heading", ({ text }) => {
	test("has specs by the CRDs' schemas", () => {
		const shown = parseAllDocuments(text).map((each) => each.toJS());
		for (const manifest of shown) {
			const [kind, spec] = specOf(manifest) ?? [];
			if (kind) expect(validateSpec(kind, spec)).toEqual([]);
		}
	});
});

const values = parse(
	readFileSync(
		join(import.meta.dirname, "../charts/tidemill/values.yaml"),
		"utf8",
	),
);

/** Paths that the chart's values don't have. */
function unknown(shown: object, known: unknown, path: string): string[] {
	// Filled by people, and empty there.
	if (typeof known !== "object" || known === null) return [];
	if (Array.isArray(known) || Object.keys(known).length === 0) return [];
	return Object.entries(shown).flatMap(([name, value]) => {
		const at = path === "" ? name : `${path}.${name}`;
		if (!Object.hasOwn(known, name)) return [at];
		const next = (known as Record<string, unknown>)[name];
		return typeof value === "object" ? unknown(value, next, at) : [];
	});
}

test.each([
	...documented("docs/install.md yaml"),
	...documented("docs/console.md yaml"),
	...documented("docs/high-availability.md yaml"),
])("$page, $heading, has values of the chart", ({ text }) => {
	expect(unknown(parse(text), values, "")).toEqual([]);
});

test.each(
	documented(
		"docs/{orchestrators,operations,reference/{api,operations}}.md json",
	),
)("$page, $heading, has JSON", ({ text }) => {
	expect(JSON.parse(text)).toBeTypeOf("object");
});
