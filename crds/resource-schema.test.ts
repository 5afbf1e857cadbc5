import { expect, test } from "vitest";
import { readResourceSchemas, type Schema } from "./resource-schema.ts";

const specs = readResourceSchemas().map(
	({ kind, schema }): [string, Schema] => [kind, schema.properties!.spec!],
);

test.each(specs)(
	"every text, list and map in the spec of a %s has a limit",
	(_, spec) => {
		expect(unlimited(spec, "spec")).toEqual([]);
	},
);

/** The paths of fields that could hold any amount of data. A schema in a plan is judged by its cost instead. */
function unlimited(schema: Schema, path: string): string[] {
	const isText =
		(schema.type === "string" &&
			!schema.enum &&
			!schema.format?.startsWith("date")) ||
		schema["x-kubernetes-int-or-string"];
	const isFree =
		(isText && schema.maxLength === undefined) ||
		(schema.items && schema.maxItems === undefined) ||
		(schema.additionalProperties && schema.maxProperties === undefined);
	const inside = [
		...Object.entries(schema.properties ?? {}),
		...Object.entries({
			...(schema.items && { "[]": schema.items }),
			...(schema.additionalProperties && { "*": schema.additionalProperties }),
		}),
	];
	return [
		...(isFree ? [path] : []),
		...inside.flatMap(([name, part]) => unlimited(part, `${path}.${name}`)),
	];
}
