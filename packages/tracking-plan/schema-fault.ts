import { patternFault } from "./metered/pattern.ts";
import { escapeToken } from "./metered/tools.ts";
import { drafts, type PlanSchema } from "./schemas.ts";
import { childSchemas, isObject, type SchemaObject } from "./subschemas.ts";

/** What a plan's schemas may not have beyond what their draft says, for people; undefined if all is well. */
export function schemaFault({ schema, draft }: PlanSchema): string | undefined {
	if (typeof schema !== "object") return undefined;
	if (!drafts.includes(draft))
		return `has the $schema ${JSON.stringify(schema.$schema)}. Take one of ${drafts.map(({ uri }) => uri).join(", ")}.`;
	return hiddenFault(schema) ?? patternsFault(schema);
}

/** Anywhere, because a `$ref` may point at what is no schema's place. */
function hiddenFault(schema: SchemaObject): string | undefined {
	const open: object[] = [schema];
	for (let next = open.pop(); next; next = open.pop())
		for (const [key, value] of Object.entries(next)) {
			// ajv writes it into a comment of its code as it is, and runs the code.
			if (key === "$id" && JSON.stringify(value).includes("*/"))
				return `has the $id ${JSON.stringify(value)}. It must not contain "*/".`;
			if (key === "$async" && value === true)
				return "has $async, which is no keyword of JSON Schema. Remove it.";
			if (isObject(value)) open.push(value);
		}
	return undefined;
}

function patternsFault(root: SchemaObject): string | undefined {
	const open = [{ schema: root, at: "" }];
	for (let next = open.pop(); next; next = open.pop()) {
		const { schema, at } = next;
		const patterns = isObject(schema.patternProperties)
			? Object.keys(schema.patternProperties).map((pattern) => ({
					pattern,
					keyword: "patternProperties",
				}))
			: [];
		if (typeof schema.pattern === "string")
			patterns.push({ pattern: schema.pattern, keyword: "pattern" });
		for (const { pattern, keyword } of patterns) {
			const fault = patternFault(pattern);
			if (fault !== undefined)
				return `can't be used: ${at}/${keyword} ${JSON.stringify(pattern)}: ${fault}.`;
		}
		for (const child of childSchemas(schema))
			open.push({
				schema: child.schema,
				at: `${at}/${child.at.map(escapeToken).join("/")}`,
			});
	}
	return undefined;
}
