import { Option } from "@commander-js/extra-typings";
import { choicesOf, fieldsIn } from "../../crds/fields.ts";
import {
	readResourceSchemas,
	type Schema,
} from "../../crds/resource-schema.ts";
import type { KubeObject, ResourceKind } from "../../packages/kube/resource.ts";
import { didYouMean } from "../../packages/service/nearest.ts";
import { UsageError } from "../command/errors.ts";

/** Any field of a spec, so that a new one needs no option of its own. */
export const setOption = new Option(
	"--set <field=value>",
	"a field of the spec, such as displayName=Shop or table.bodyColumns[0].name=amount. A list of words is separated by commas; other lists and objects are JSON. It can be repeated",
).argParser((text: string, others: string[] = []) => [...others, text]);

/**
 * The spec with these fields, each as `path=value` and of the type that the CRD has for it. Bounds, patterns and rules are the
 * apiserver's. Throws {@link UsageError}.
 */
export function withFields(
	kind: ResourceKind<KubeObject>,
	spec: object,
	settings: readonly string[] = [],
): object {
	let result: unknown = spec;
	for (const setting of settings) {
		const [, path, text] = /^([^=]+)=(.*)$/s.exec(setting) ?? [];
		if (path === undefined)
			throw new UsageError(
				`--set is "${setting}", but must be a field and its value, such as displayName=Shop`,
			);
		const steps = stepsOf(path);
		const schema = schemaAt(kind, path, steps);
		result = put(result, steps, fieldValue(schema, path, text!), path);
	}
	return result as object;
}

/** Fields and values that may stand in place of a word of `--set`. */
export function fieldsStarting(
	kind: ResourceKind<KubeObject>,
	word: string,
): { word: string; about: string }[] {
	const [path, value] = word.split("=", 2) as [string, string?];
	const leaves = fieldsIn(specSchema(kind), { intoLists: true });
	// The place in a list is the person's.
	const first = (text: string) => text.replace(/\[\d+\]/g, "[0]");
	if (value !== undefined) {
		const leaf = leaves.find((one) => one.path === first(path))?.schema;
		return (choicesOf(leaf) ?? [])
			.filter((one) => one.startsWith(value))
			.map((one) => ({ word: `${path}=${one}`, about: "" }));
	}
	return leaves
		.filter((leaf) => leaf.path.startsWith(first(path)))
		.map((leaf) => ({
			word: `${path}${leaf.path.slice(first(path).length)}=`,
			about: (leaf.schema.description ?? "").split(/(?<=\.)\s/)[0]!,
		}));
}

function specSchema({ kind }: ResourceKind<KubeObject>): Schema {
	const found = readResourceSchemas().find((one) => one.kind === kind);
	return found!.schema.properties!.spec!;
}

/** `table.bodyColumns[0].name` as `["table", "bodyColumns", 0, "name"]`. */
function stepsOf(path: string): (string | number)[] {
	if (!/^[^.[\]]+(\.[^.[\]]+|\[\d{1,3}\])*$/.test(path))
		throw new UsageError(
			`--set has the field "${path}", but fields are written such as table.name or table.bodyColumns[0].name`,
		);
	return [...path.matchAll(/([^.[\]]+)|\[(\d+)\]/g)].map(
		([, name, index]) => name ?? Number(index),
	);
}

function schemaAt(
	kind: ResourceKind<KubeObject>,
	path: string,
	steps: (string | number)[],
): Schema {
	let at = specSchema(kind);
	for (const step of steps) {
		const { properties = {}, additionalProperties, items } = at;
		const next =
			typeof step === "number"
				? items
				: Object.hasOwn(properties, step)
					? properties[step]
					: additionalProperties;
		if (!next && !at["x-kubernetes-preserve-unknown-fields"]) {
			const paths = fieldsIn(specSchema(kind), { intoLists: true }).map(
				(leaf) => leaf.path,
			);
			const parents = paths.map((one) => one.replace(/[.[][^.[]*$/, ""));
			throw new UsageError(
				`the spec of a ${kind.kind} has no field "${path}".${didYouMean(path, [...paths, ...parents])} docs/reference/resources.md has all fields`,
			);
		}
		at = next ?? at;
	}
	return at;
}

function put(
	at: unknown,
	[step, ...rest]: (string | number)[],
	value: unknown,
	path: string,
): unknown {
	if (step === undefined) return value;
	if (typeof step === "string") {
		const own = (at ?? {}) as Record<string, unknown>;
		return { ...own, [step]: put(own[step], rest, value, path) };
	}
	const items = [...((at ?? []) as unknown[])];
	if (step > items.length)
		throw new UsageError(
			`--set has the field "${path}", but the list has ${items.length} so far: the next is [${items.length}]`,
		);
	items[step] = put(items[step], rest, value, path);
	return items;
}

function fieldValue(schema: Schema, path: string, text: string): unknown {
	const wrong = (right: string) =>
		new UsageError(`--set has ${path}="${text}", but must be ${right}`);
	const { type, items } = schema;
	const isNumber = /^-?\d{1,15}$/.test(text);
	if (schema["x-kubernetes-int-or-string"])
		return isNumber ? Number(text) : text;
	const values = choicesOf(schema);
	if (values && !values.includes(text))
		throw wrong(`one of ${values.join(", ")}`);
	if (type === "string") return text;
	if (type === "boolean") return text === "true";
	if (type === "integer") {
		if (!isNumber) throw wrong("a whole number");
		return Number(text);
	}
	if (type === "array" && items?.type !== "object" && !/^\s*\[/.test(text))
		return text === ""
			? []
			: text.split(",").map((one) => fieldValue(items!, path, one));
	try {
		return JSON.parse(text);
	} catch {
		throw wrong(
			type === "array" ? "a list in JSON" : "JSON, such as an object",
		);
	}
}
