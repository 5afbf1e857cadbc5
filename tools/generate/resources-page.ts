import type { ResourceSchema, Schema } from "../../crds/resource-schema.ts";
import { prose, table } from "./markdown.ts";

/** A page for each kind, with every field, its type, default, bounds and rules. */
export function resourcePages(
	resources: ResourceSchema[],
): [path: string, text: string][] {
	return resources.map((resource) => [
		`docs/${pageOf(resource)}`,
		page(resource),
	]);
}

/** What there is, with a link to each page. */
export function resourceList(resources: ResourceSchema[]): string {
	return table(
		["kind", "in kubectl", "what it is"],
		resources.map((resource) => {
			const { kind, plural, shortNames, schema } = resource;
			const names = [plural, ...shortNames].map((name) => `\`${name}\``);
			const link = pageOf(resource).replace("reference/", "");
			return [`[${kind}](${link})`, names.join(", "), schema.description!];
		}),
	).join("\n");
}

function pageOf({ kind }: ResourceSchema): string {
	return `reference/${kind.toLowerCase()}.md`;
}

function page(resource: ResourceSchema): string {
	const { kind, plural, shortNames, schema } = resource;
	const { spec, status } = schema.properties!;
	const rules = [...rulesOf("", schema)]
		.map((rule) => `- ${prose(rule)}\n`)
		.join("");
	return `# ${kind}

<!-- Written by "npm run generate" from charts/tidemill/files/crds/${plural}.yaml. Edit that, not this page. -->

${prose(schema.description!)} Names in kubectl: \`${plural}\`, \`${shortNames.join("`, `")}\`.

${prose(spec!.description!)} A field with a \\* is required. \`kubectl explain ${kind.toLowerCase()}.spec\` shows the same.

## Spec

${fieldTable(spec!)}
## Rules

The apiserver checks these rules:

${rules}
## Status

${fieldTable(status!)}`;
}

function fieldTable(schema: Schema): string {
	return table(
		["field", "type", "bounds and default", "meaning"],
		[...fieldsOf("", schema)].map(({ path, required, field }) => [
			`\`${path}\`${required ? " \\*" : ""}`,
			typeName(field),
			bounds(field),
			field.description ?? "",
		]),
	).join("\n");
}

function* fieldsOf(
	prefix: string,
	schema: Schema,
): Generator<{ path: string; required: boolean; field: Schema }> {
	for (const [name, field] of Object.entries(schema.properties ?? {})) {
		const path = `${prefix}${name}${field.type === "array" ? "[]" : ""}`;
		yield { path, required: schema.required?.includes(name) ?? false, field };
		// A condition has the fields of every Kubernetes condition.
		if (name !== "conditions")
			yield* fieldsOf(`${path}.`, field.items ?? field);
	}
}

function* rulesOf(path: string, schema: Schema): Generator<string> {
	for (const { message } of schema["x-kubernetes-validations"] ?? [])
		yield path ? `\`${path}\`: ${message}` : message;
	for (const [name, field] of Object.entries(schema.properties ?? {}))
		yield* rulesOf(path ? `${path}.${name}` : name, field);
	if (schema.items) yield* rulesOf(`${path}[]`, schema.items);
}

function typeName(field: Schema): string {
	if (field.enum) return field.enum.map((value) => `\`${value}\``).join(" or ");
	if (field.additionalProperties) return "map of quantities";
	if (field.items) return `list of ${field.items.type}s`;
	return field.format?.startsWith("date") ? field.format : field.type!;
}

function bounds(field: Schema): string {
	const texts: string[] = [];
	const range = (
		least: number | undefined,
		most: number | undefined,
		unit: string,
	) => {
		if (least !== undefined && most !== undefined)
			texts.push(`${least} to ${most}${unit}`);
		else if (least !== undefined) texts.push(`at least ${least}${unit}`);
		else if (most !== undefined) texts.push(`at most ${most}${unit}`);
	};
	range(field.minimum, field.maximum, "");
	range(field.minLength, field.maxLength, " characters");
	range(field.minItems, field.maxItems, " items");
	if (field.items?.enum)
		texts.push(`of ${field.items.enum.map((v) => `\`${v}\``).join(", ")}`);
	const pattern = field.pattern ?? field.items?.pattern;
	if (pattern) texts.push(`\`${pattern}\``);
	if (field.default !== undefined && !isEmptyObject(field.default))
		texts.push(`default \`${JSON.stringify(field.default)}\``);
	return texts.join("; ");
}

/** The default `{}` only makes the defaults of the inner fields apply. */
function isEmptyObject(value: unknown): boolean {
	return JSON.stringify(value) === "{}";
}
