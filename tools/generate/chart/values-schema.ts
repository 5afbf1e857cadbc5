import type { ChartValue } from "./values.ts";

type Schema = Record<string, unknown>;

/** The chart's values.schema.json: refuses keys that the chart doesn't know, so that nobody's typing error is silent. */
export function valuesSchema(values: ChartValue[]): Schema {
	const { properties, ...rest } = group(values);
	return {
		$schema: "http://json-schema.org/draft-07/schema#",
		title: "Values of the Helm chart tidemill",
		...rest,
		properties: {
			...(properties as Schema),
			// Helm adds it where the chart is part of another one.
			global: { type: "object" },
		},
	};
}

function group(values: ChartValue[]): Schema {
	return {
		type: "object",
		additionalProperties: false,
		properties: Object.fromEntries(
			values.map((value) => [value.key, schemaOf(value)]),
		),
	};
}

function schemaOf({ text, keywords, children, ...value }: ChartValue): Schema {
	return {
		...(text && { description: text }),
		...(children ? group(children) : { type: typeOf(value.default) }),
		...keywords,
	};
}

function typeOf(value: unknown): string {
	if (Array.isArray(value)) return "array";
	if (typeof value === "number") return "integer";
	return typeof value;
}
