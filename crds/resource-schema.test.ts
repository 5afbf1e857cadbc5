import { expect, test } from "vitest";
import { readResourceSchemas, type Schema } from "./resource-schema.ts";

const schemas = readResourceSchemas();
const specs = schemas.map(({ kind, schema }): [string, Schema] => [
	kind,
	schema.properties!.spec!,
]);

test.each(specs)(
	"every text, list and map in the spec of a %s has a limit",
	(_, spec) => {
		expect(pathsOf(spec, "spec", isUnlimited)).toEqual([]);
	},
);

test("an operator of a later version may write another word into any status", () => {
	const closed = schemas.flatMap(({ kind, schema }) =>
		pathsOf(schema.properties!.status!, kind, ({ enum: words }) =>
			Boolean(words),
		),
	);
	// Kubernetes' own (KEP-1623).
	expect(closed).toEqual(
		schemas.map(({ kind }) => `${kind}.conditions.[].status`),
	);
});

test("a reference is replaced as a whole, so that two managers never mix one", () => {
	const references = specs.flatMap(([kind, spec]) =>
		pathsOf(
			spec,
			kind,
			({ properties = {}, ...rest }) =>
				"name" in properties &&
				Object.keys(properties).every((name) => /^(name|key)$/.test(name)) &&
				rest["x-kubernetes-map-type"] !== "atomic",
		),
	);
	expect(references).toEqual([]);
});

test("what only a person can know has no default, so that a later version may ask for it", () => {
	const { bigQuery } = new Map(specs).get("Destination")!.properties!;
	expect(bigQuery!.properties!.location).not.toHaveProperty("default");
});

/** Whether a field could hold any amount of data. A schema in a plan is bounded by its cost instead. */
function isUnlimited(schema: Schema): boolean {
	const isText =
		(schema.type === "string" &&
			!schema.enum &&
			!schema.format?.startsWith("date")) ||
		schema["x-kubernetes-int-or-string"];
	return Boolean(
		(isText && schema.maxLength === undefined) ||
			(schema.items && schema.maxItems === undefined) ||
			(schema.additionalProperties && schema.maxProperties === undefined),
	);
}

/** The paths of the fields of which the test holds. */
function pathsOf(
	schema: Schema,
	path: string,
	test: (schema: Schema) => boolean,
): string[] {
	const inside = [
		...Object.entries(schema.properties ?? {}),
		...Object.entries({
			...(schema.items && { "[]": schema.items }),
			...(schema.additionalProperties && { "*": schema.additionalProperties }),
		}),
	];
	return [
		...(test(schema) ? [path] : []),
		...inside.flatMap(([name, part]) => pathsOf(part, `${path}.${name}`, test)),
	];
}

test("the Pods of a check and of an Operation have the same settings as a Run's", () => {
	const settings = (field: string) => {
		const schemas = readResourceSchemas().map(
			({ schema }) => schema.properties!.spec!.properties![field],
		);
		const { activeDeadlineSeconds, retries, ...rest } =
			schemas.find(Boolean)!.properties!;
		return rest;
	};
	const run = settings("runTemplate");
	expect(settings("checkTemplate")).toEqual(run);
	expect(withoutWords(settings("jobTemplate"))).toEqual(withoutWords(run));
});

test("an inline plan has the fields of a TrackingPlan", () => {
	const specOf = (wanted: string) =>
		readResourceSchemas().find(({ kind }) => kind === wanted)!.schema
			.properties!.spec!.properties!;
	expect(specOf("Operation").plan!.properties!.inline!.properties).toEqual(
		specOf("TrackingPlan"),
	);
});

/** Without descriptions, which say whose settings they are. */
function withoutWords(schema: object): object {
	return JSON.parse(
		JSON.stringify(schema, (key, value) =>
			key === "description" ? undefined : value,
		),
	);
}
