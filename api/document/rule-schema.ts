import type { JsonSchema } from "../../crds/json-schema.ts";
import type { Rule } from "../../crds/resource-schema.ts";

/**
 * Translates a CEL rule of a CRD to JSON Schema for the OpenAPI document. A rule that JSON Schema can't express becomes a
 * description. The apiserver enforces the rule itself.
 */
export function ruleSchema({ rule, message }: Rule): JsonSchema {
	const union = /^\(self\.(\w+) == '(\w+)'\) == has\(self\.(\w+)\)$/.exec(rule);
	if (union) {
		const [, field, value, member] = union;
		return {
			if: {
				properties: { [field!]: { const: value } },
				required: [field],
			},
			// biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
			then: { required: [member] },
			else: { not: { required: [member] } },
		};
	}
	if (rule.endsWith(".filter(given, given).size() == 1")) {
		const fields = [...rule.matchAll(/has\(self\.(\w+)\)/g)];
		return { oneOf: fields.map(([, field]) => ({ required: [field] })) };
	}
	if (rule.includes("self.exists_one(")) return { uniqueItems: true };
	const words = /^self\.all\(\w+, !\(\w+ in \[(.*)\]\)\)$/.exec(rule)?.[1];
	if (words)
		return {
			items: { not: { enum: words.split(", ").map((w) => w.slice(1, -1)) } },
		};
	if (rule.startsWith("self.split('/')"))
		return { not: { pattern: "(^|/)\\.{0,2}(/|$)" } };
	return { description: message };
}
