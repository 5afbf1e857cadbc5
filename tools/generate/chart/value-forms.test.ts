import { expect, test } from "vitest";
import { formOf, forms } from "./value-forms.ts";

/** What charts/tidemill/templates/cluster/values/_rules.tpl knows. */
const keywords = [
	"$ref",
	"additionalProperties",
	"description",
	"enum",
	"items",
	"maximum",
	"minimum",
	"pattern",
	"properties",
	"propertyNames",
	"required",
	"type",
	"uniqueItems",
	"writeOnly",
];

type Schema = Record<string, unknown>;

/** A schema and all that it has inside. */
function all(schema: Schema): Schema[] {
	const { items, additionalProperties, properties = {} } = schema;
	return [
		schema,
		...[items, additionalProperties, ...Object.values(properties as Schema)]
			.filter((each) => typeof each === "object")
			.flatMap((each) => all(each as Schema)),
	];
}

test("every form uses only keywords that the chart's templates know, and names forms that exist", () => {
	for (const [name, form] of Object.entries(forms))
		for (const schema of all(form)) {
			for (const keyword of Object.keys(schema))
				expect([name, keywords]).toEqual([
					name,
					expect.arrayContaining([keyword]),
				]);
			const { $ref } = schema;
			if ($ref !== undefined) expect(Object.keys(forms)).toContain($ref);
		}
});

test("the last two keys of a path win over the last one", () => {
	expect(formOf("nats.storage.size")).toEqual({ $ref: "size" });
	expect(formOf("api.service.port")).toEqual({ $ref: "port" });
	expect(formOf("receive.url")).toBeUndefined();
});

test.each([
	["network", ["10.0.0.0/8", "fd00::/8"], ["10.0.0.0", "10.0.0.0/33", "::"]],
	["address", ["10.20.0.7", "::", "fd00::7"], ["256.1.1.1", "a.example"]],
	["quantity", ["500m", "2", "1.5Gi", "2e9"], ["1GB", "-1", ""]],
	["host", ["a.example", "*.example.com"], ["A.example", "https://a.example"]],
	["digest", [`sha256:${"0".repeat(64)}`], ["sha256:0", "0".repeat(64)]],
	["repository", ["library/nats", "a/b/c-d_e"], ["Library/nats", "a/", "a:1"]],
	["tag", ["v1.8.0", "", "1_2"], ["a b", "-a"]],
	["url", ["https://a.example/x"], ["a.example", "http://u:p@a.example"]],
	["name", ["a", "a.b-c"], ["A", "-a", "a..b"]],
])("the form %s", (name, right, wrong) => {
	const { pattern } = forms[name] as { pattern: string };
	for (const text of right) expect(text).toMatch(new RegExp(pattern));
	for (const text of wrong) expect(text).not.toMatch(new RegExp(pattern));
});
