import { expect, test } from "vitest";
import { draftOf } from "./draft.ts";
import { lineOfField, manifestOf, readManifest } from "./manifest.ts";

const orders = {
	name: "orders",
	labels: { team: "shop" },
	spec: {
		displayName: "Orders: <b>all</b>\n# no comment",
		sourceRef: { name: "shop" },
		destinationRef: { name: "warehouse" },
		table: { columns: ["EventID", "Date"] },
		schedule: { type: "Daily", updateTime: "06:30" },
	},
};

test("the YAML of a form, pasted, is the form again", () => {
	const text = manifestOf("Pipeline", orders, "default");
	expect(readManifest("Pipeline", text, "default")).toEqual({
		draft: orders,
		notes: [],
	});
	expect(text).toContain('updateTime: "06:30"');
});

test("JSON is taken, too, and of several documents the only one of the kind", () => {
	const json = JSON.stringify({
		apiVersion: "tidemill.dev/v1alpha1",
		kind: "Pipeline",
		metadata: { name: "orders" },
		spec: orders.spec,
	});
	expect(readManifest("Pipeline", json)).toMatchObject({
		draft: { spec: orders.spec },
	});
	const source = manifestOf("Source", {
		name: "shop",
		spec: { type: "Webhook" },
	});
	expect(readManifest("Pipeline", `${source}---\n${json}`)).toMatchObject({
		draft: { name: "orders" },
	});
	expect(readManifest("Pipeline", `${source}---\n${source}`)).toMatchObject({
		problems: [
			{
				message:
					"The text has 2 documents, and none of kind Pipeline. Paste one Pipeline.",
			},
		],
	});
});

const head = "apiVersion: tidemill.dev/v1alpha1\nkind: Pipeline\n";

test.each<[about: string, text: string, ...problems: object[]]>([
	[
		"a field that the spec lacks",
		`${head}metadata: { name: a }\nspec:\n  shedule: {}`,
		{ message: 'spec has no field "shedule".', path: "shedule", line: 5 },
	],
	[
		"another kind",
		"apiVersion: tidemill.dev/v1alpha1\nkind: Sauce\nmetadata: { name: a }",
		{ message: 'kind must be Pipeline, not "Sauce".', line: 2 },
	],
	[
		"a missing name",
		`${head}metadata: {}\nspec: {}`,
		{
			message: "metadata.name must be a name, not absent.",
			path: "name",
			line: 3,
		},
	],
	[
		"a label that is a number",
		`${head}metadata:\n  name: a\n  labels: { n: 1 }`,
		{
			message:
				"metadata.labels must be a mapping of texts; put numbers and true in quotes.",
			path: "labels",
			line: 5,
		},
	],
	[
		"another namespace",
		`${head}metadata:\n  name: a\n  namespace: other`,
		{
			message:
				'metadata.namespace is "other", and this page is of "default". Choose the other namespace first, or remove the field.',
			line: 5,
		},
	],
	["no text", "", { message: "There is no Pipeline in the text." }],
	[
		"a text",
		"hello",
		{ message: "The text is not a manifest of a Pipeline.", line: 1 },
	],
])("%s is a problem at its line", (_about, text, ...problems) => {
	expect(readManifest("Pipeline", text, "default")).toEqual({ problems });
});

test("a fault of YAML is at its line, and a key that stands twice is one", () => {
	expect(
		readManifest("Pipeline", `${head}metadata: { name: a\nspec: {}`),
	).toMatchObject({ problems: [{ line: expect.any(Number) }] });
	expect(readManifest("Pipeline", `${head}kind: Pipeline`)).toMatchObject({
		problems: [{ message: expect.stringContaining("unique"), line: 3 }],
	});
});

test("aliases that multiply, a huge text, and a tag of a program make no harm", () => {
	const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [${"*a,".repeat(9)}]\nc: &c [${"*b,".repeat(9)}]\nd: [${"*c,".repeat(9)}]`;
	expect(readManifest("Pipeline", bomb)).toHaveProperty("problems");
	expect(readManifest("Pipeline", "x".repeat(2 ** 20 + 1))).toHaveProperty(
		"problems",
	);
	expect(
		readManifest(
			"Pipeline",
			`${head}metadata: { name: a }\nspec: { __proto__: { polluted: 1 } }`,
		),
	).toHaveProperty("problems");
	expect({}).not.toHaveProperty("polluted");
});

test("a field of the API's errors has its line in the YAML", () => {
	const text = manifestOf("Pipeline", {
		...orders,
		spec: {
			...orders.spec,
			table: { bodyColumns: [{ name: "a" }, { name: "B" }] },
		},
	});
	const lines = text.split("\n");
	expect(lines[lineOfField(text, "table.bodyColumns[1].name")! - 1]).toContain(
		"name: B",
	);
	expect(lines[lineOfField(text, "schedule.updateTime")! - 1]).toContain(
		"updateTime",
	);
	// What is missing is said where it belongs.
	expect(lines[lineOfField(text, "schedule.cron")! - 1]).toContain("schedule:");
	expect(lines[lineOfField(text, "name")! - 1]).toContain("name: orders");
});

test("a draft of a resource has what people set, and not its status", () => {
	expect(
		draftOf("Pipeline", {
			...orders.spec,
			name: "orders",
			id: "…",
			status: "Ready",
			tableName: "orders",
			managedBy: "Flux",
		}),
	).toEqual({ name: "orders", spec: orders.spec });
});
