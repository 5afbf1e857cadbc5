import { expect, test } from "vitest";
import { fieldsIn } from "../../crds/fields.ts";
import { pipelineForm, planForm, sourceForm } from "../../crds/forms.ts";
import { readResourceSchemas } from "../../crds/resource-schema.ts";
import { readAcceptedManifests } from "../../test/support/manifests/manifest.ts";
import {
	collections,
	type Draft,
	type FormKind,
	type PlainObject,
	valueAt,
	withField,
} from "./draft.ts";
import {
	formOf,
	otherFields,
	schemaAt,
	textOfValue,
	valueOfText,
} from "./field-text.ts";
import { manifestOf } from "./manifest.ts";

const specs = new Map(
	readResourceSchemas().map(({ kind, schema }) => [
		kind,
		schema.properties!.spec!,
	]),
);
const ofForms = readAcceptedManifests().filter(
	({ kind }) => kind in collections,
);

test("what is typed into every field makes each manifest that the cluster accepts", () => {
	const typed = new Set<string>();
	for (const { kind, metadata, spec } of ofForms) {
		const { name } = metadata;
		let draft: Draft = { name, spec: {} };
		let wanted = draft;
		for (const { path, schema } of fieldsIn(specs.get(kind)!)) {
			const value = valueAt(spec, path);
			if (value === undefined) continue;
			typed.add(`${kind} ${path}`);
			// What a field has that nobody types in.
			if (value === "") continue;
			const text = textOfValue(schema, value);
			draft = withField(draft, path, valueOfText(schema, text));
			wanted = withField(wanted, path, value);
		}
		const yaml = (one: Draft) => manifestOf(kind as FormKind, one);
		expect(yaml(draft), `${kind} ${name}`).toEqual(yaml(wanted));
	}
	const all = [...specs]
		.filter(([kind]) => kind in collections)
		.flatMap(([kind, spec]) =>
			fieldsIn(spec).map(({ path }) => `${kind} ${path}`),
		);
	expect(all.filter((path) => !typed.has(path))).toEqual([]);
});

test("a form draws every field that it has none of its own for, and of a union the member that is chosen", () => {
	const pathsOf = (kind: string, spec: PlainObject, own: string[]) =>
		otherFields(specs.get(kind)!, spec, own).map(({ path }) => path);
	const ofSource = pathsOf(
		"Source",
		{ type: "Webhook", webhook: { authorization: { type: "JWT" } } },
		["displayName", "notify.secretRefs"],
	);
	expect(ofSource).toContain("retentionDays");
	expect(ofSource).toContain("webhook.authorization.jwt.header");
	for (const none of ["displayName", "notify.secretRefs"])
		expect(ofSource).not.toContain(none);
	expect(ofSource.join()).not.toContain("amazonSNS");
	const ofDestination = pathsOf("Destination", { type: "Postgres" }, []);
	expect(ofDestination).toContain("postgres.port");
	expect(ofDestination).toContain("serviceAccountName");
	expect(ofDestination.join()).not.toMatch(/duckDB|bigQuery|clickHouse/);
});

test("each field that a form has words for is one of the CRD's, in one form and one group", () => {
	for (const [kind, form] of [
		["Source", sourceForm],
		["Pipeline", pipelineForm],
		["TrackingPlan", planForm],
	] as const) {
		const paths = Object.values(form).flatMap(Object.keys);
		expect(new Set(paths).size).toBe(paths.length);
		for (const path of paths)
			expect(schemaAt(specs.get(kind)!, path), path).toHaveProperty("type");
	}
});

test("a text that has lines, or may have them, is never put into an input of one line, which would drop line feeds", () => {
	const formAt = (kind: string, path: string, value?: unknown) =>
		formOf(schemaAt(specs.get(kind)!, path), value);
	const custom = "webhook.authorization.signature.custom";
	expect(formAt("Source", `${custom}.signedString`)).toBe("lines");
	expect(formAt("Source", `${custom}.prefix`, "a")).toBe("line");
	expect(formAt("Source", `${custom}.prefix`, "a\n")).toBe("lines");
	expect(formAt("Destination", "bigQuery.dataset")).toBe("line");
	expect(formAt("Source", "webhook.response.body")).toBe("lines");
});

const secretNames = {
	type: "array",
	items: { properties: { name: { type: "string" } } },
};

test.each([
	[{ type: "integer" }, "7", 7],
	[{ type: "integer" }, "seven", "seven"],
	[{ type: "boolean" }, "false", false],
	[{ "x-kubernetes-int-or-string": true }, "2Gi", "2Gi"],
	[{ "x-kubernetes-int-or-string": true }, "2", 2],
	[{ type: "array", items: { type: "string" } }, "a\nb", ["a", "b"]],
	[{ type: "array", items: { type: "string" } }, "a\nb\n\n", ["a", "b"]],
	[{ type: "array", items: { type: "string" } }, "\n", undefined],
	[secretNames, "pager\n", [{ name: "pager" }]],
	[secretNames, "pager\nchat", [{ name: "pager" }, { name: "chat" }]],
	[{ type: "object" }, "a: 1", { a: 1 }],
	[{ type: "object" }, "a: [", "a: ["],
	[{ type: "string", maxLength: 9 }, "", undefined],
] as const)("of the schema %j, %j is the value %j", (schema, text, value) => {
	expect(valueOfText(schema as never, text)).toEqual(value);
});
