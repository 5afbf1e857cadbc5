import {
	_,
	type Ajv,
	type CodeKeywordDefinition,
	type KeywordCxt,
	type Name,
} from "ajv";
import { operators } from "ajv/dist/compile/codegen/index.js";
import { type FormatName, formatNames } from "./formats.ts";
import { Fuel } from "./fuel.ts";
import type { ExactNumbers } from "./numbers.ts";
import { patternFault } from "./pattern.ts";
import { PlanTools } from "./tools.ts";

/**
 * Puts keywords that burn fuel in the place of ajv's whose time a schema's text doesn't show, and keywords that count with numbers as
 * they are written in the place of those for numbers.
 * @param numbers Of the schemas.
 */
export function useMeteredKeywords(ajv: Ajv, numbers: ExactNumbers): void {
	const unions = ["anyOf", "oneOf"].map((keyword) =>
		union(ajv.getKeyword(keyword) as CodeKeywordDefinition),
	);
	const all = [...definitions, ...numeric(numbers), ...unions];
	for (const definition of all) {
		for (const keyword of [definition.keyword].flat())
			ajv.removeKeyword(keyword);
		ajv.addKeyword(definition);
	}
}

/** In ajv's options: the regular expressions of `pattern` and `patternProperties`. */
export const regExp = Object.assign(
	(source: string) => {
		const fault = patternFault(source);
		if (fault !== undefined)
			throw new Error(
				`the pattern ${JSON.stringify(source)} can't be used: ${fault}`,
			);
		return {
			test: (text: string) => tools.pattern(source).test(text),
			toString: () => source,
		};
	},
	// Of the code that is kept; the function above is for the drafts' own schemas.
	{ code: "((source) => tools.pattern(source))" },
);

const tools = new PlanTools(new Fuel());

const definitions: CodeKeywordDefinition[] = [
	{
		keyword: ["maxLength", "minLength"],
		type: "string",
		schemaType: "number",
		error: {
			message: "",
			params: ({ schemaCode }) => _`{limit: ${schemaCode}}`,
		},
		code(cxt) {
			const { keyword, data, schema, schemaCode } = cxt;
			const length = _`${toolsOf(cxt)}.length(${data})`;
			// No text has more characters than units of UTF-16, nor fewer than half as many.
			cxt.fail(
				keyword === "maxLength"
					? _`${data}.length > ${schemaCode} && ${length} > ${schemaCode}`
					: _`${data}.length < ${2 * schema} && ${length} < ${schemaCode}`,
			);
		},
	},
	{
		keyword: "uniqueItems",
		type: "array",
		schemaType: "boolean",
		error: { message: "" },
		code(cxt) {
			if (cxt.schema)
				cxt.fail(
					_`${cxt.data}.length > 1 && !${toolsOf(cxt)}.unique(${cxt.data})`,
				);
		},
	},
	{
		keyword: "format",
		type: "string",
		schemaType: "string",
		error: {
			message: "",
			params: ({ schemaCode }) => _`{format: ${schemaCode}}`,
		},
		code(cxt) {
			const { gen, data, schema } = cxt;
			// Unknown formats are annotations (Validation §7.2.3).
			if (!formatNames.includes(schema as FormatName)) return;
			const matches = gen.scopeValue("formats", {
				key: schema,
				ref: tools.format(schema as FormatName),
				code: _`tools.format(${schema})`,
			});
			cxt.pass(_`${matches}(${data})`);
		},
	},
];

/** The keywords for numbers, and those that compare values. */
function numeric(numbers: ExactNumbers): CodeKeywordDefinition[] {
	const limitOf = ({ gen, schema }: KeywordCxt) => {
		const text = numbers.textOf(schema);
		return gen.scopeValue("obj", {
			ref: tools.limit(schema, text),
			code: _`tools.limit(${schema}, ${text ?? String(schema)})`,
		});
	};
	return [
		...comparisons.map(
			([keyword, words, fails]): CodeKeywordDefinition => ({
				keyword,
				type: "number",
				schemaType: "number",
				error: {
					message: "",
					params: ({ params }) =>
						_`{comparison: ${words}, limit: ${params.limit as Name}.text}`,
				},
				code(cxt) {
					const limit = limitOf(cxt);
					cxt.setParams({ limit });
					const compared = _`${toolsOf(cxt)}.compare(${cxt.data}, ${limit})`;
					cxt.fail(_`${compared} ${fails} 0`);
				},
			}),
		),
		{
			keyword: "multipleOf",
			type: "number",
			schemaType: "number",
			error: {
				message: "",
				params: ({ params }) => _`{multipleOf: ${params.limit as Name}.text}`,
			},
			code(cxt) {
				const limit = limitOf(cxt);
				cxt.setParams({ limit });
				cxt.pass(_`${toolsOf(cxt)}.isMultiple(${cxt.data}, ${limit})`);
			},
		},
		{
			keyword: ["enum", "const"],
			error: {
				message: "",
				params: ({ params }) => _`{values: ${params.values as Name}.values}`,
			},
			code(cxt) {
				const { gen, keyword, data, schema } = cxt;
				const given = keyword === "enum" ? schema : [schema];
				if (!Array.isArray(given)) throw new Error("enum must be an array");
				const text = numbers.textIn(given);
				const values = gen.scopeValue("obj", {
					ref: tools.oneOf(text),
					// As text: a property named __proto__ stays one.
					code: _`tools.oneOf(${text})`,
				});
				cxt.setParams({ values });
				cxt.pass(_`${values}.has(${data})`);
			},
		},
	];
}

const comparisons = [
	["maximum", "<=", operators.GT],
	["minimum", ">=", operators.LT],
	["exclusiveMaximum", "<", operators.GTE],
	["exclusiveMinimum", ">", operators.LTE],
] as const;

/** Says how many of the errors before its own are those of its branches. */
function union(definition: CodeKeywordDefinition): CodeKeywordDefinition {
	return {
		...definition,
		error: {
			message: "",
			params: ({ errsCount, params, schema }) =>
				_`{branches: errors - ${errsCount!}, of: ${(schema as unknown[]).length}, passing: ${(params.passing as Name | undefined) ?? null}}`,
		},
	};
}

function toolsOf({ gen }: KeywordCxt): Name {
	return gen.scopeValue("func", { key: "tools", ref: tools, code: _`tools` });
}
