// ajv: the JSON Schema validator that fastify uses, too; it generates a function for each schema.
import { Ajv, type Options } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import standaloneCode from "ajv/dist/standalone/index.js";
import type { EventSchema, PlanDocument } from "../contracts/tracking-plan.ts";
import { regExp, useMeteredKeywords } from "./metered/keywords.ts";
import { meter } from "./metered/meter.ts";
import { ExactNumbers, isTooLarge } from "./metered/numbers.ts";
import { patternFault } from "./metered/pattern.ts";
import { escapeToken } from "./metered/tools.ts";
import {
	childSchemas,
	drafts,
	isObject,
	type PlanSchema,
	quickName,
	type SchemaKeywords,
	schemasOf,
} from "./schemas.ts";
import { cut } from "./violations.ts";

/**
 * The plan's schemas as the text of a program, which PlanValidator runs; or what is wrong with the first invalid one, for people.
 * Strangers write plans, and a few kilobytes of schema can take minutes and gigabytes: call it in a thread with limits.
 */
export function compilePlan(
	document: PlanDocument,
): { code: string } | { fault: string } {
	try {
		return compile(document);
	} catch (error) {
		// A call for each part of a schema: what ajv writes has no limit but the stack.
		if (!(error instanceof RangeError)) throw error;
		return {
			fault:
				"The plan's schemas are nested too deeply, or too many stand in one list. Split them with $ref.",
		};
	}
}

function compile(document: PlanDocument): { code: string } | { fault: string } {
	const numbers = new ExactNumbers();
	const { common, events } = document;
	const schemas = schemasOf({
		...document,
		...(common !== undefined && { common: held(common, numbers) }),
		events: events.map(({ type, schema }) => ({
			type,
			...(schema !== undefined && { schema: held(schema, numbers) }),
		})),
	});
	const byDraft = Map.groupBy(schemas, ({ draft }) => draft.uri);
	const compilers = new Map(
		[...byDraft].map(([uri, own]) => [
			uri,
			compilerOf(uri, own, options, numbers),
		]),
	);
	for (const schema of schemas) {
		const fault =
			schemaFault(schema, numbers) ??
			invalid(schema, compilers.get(schema.draft.uri)!);
		if (fault !== undefined) return { fault: `${schema.place} ${fault}` };
	}
	for (const schema of schemas) {
		const fault = unusable(schema, compilers.get(schema.draft.uri)!);
		if (fault !== undefined) return { fault: `${schema.place} ${fault}` };
	}
	const codes = [...byDraft].flatMap(([uri, own]) => {
		const first = { ...options, allErrors: false };
		const quick = compilerOf(uri, own, first, numbers);
		for (const { schema, uri: id } of own)
			quick.addSchema(schema as object, id);
		return [
			codeOf(compilers.get(uri)!, own, (name) => name),
			codeOf(quick, own, quickName),
		];
	});
	return { code: `"use strict";${codes.join("")}` };
}

function held(schema: EventSchema, numbers: ExactNumbers): EventSchema {
	return numbers.valueOf(schema) as EventSchema;
}

/** @param nameOf the name in the plan's code of a schema with this name. */
function codeOf(
	ajv: Ajv,
	schemas: PlanSchema[],
	nameOf: (name: string) => string,
): string {
	const names = Object.fromEntries(
		schemas.map(({ name, uri }) => [nameOf(name), uri]),
	);
	return `{${meter(standaloneCode.default(ajv, names))}}`;
}

const options: Options = {
	// Unknown keywords are no error (JSON Schema 2020-12 Core §4.3.1).
	strict: false,
	validateSchema: false,
	logger: false,
	allErrors: true,
	messages: false,
	// Otherwise each reference becomes a copy of what it refers to: 13 KB of schema grow to gigabytes.
	inlineRefs: false,
	// Otherwise every event has the properties `constructor` and `__proto__`.
	ownProperties: true,
	code: { source: true, regExp },
};

/** In the order of the drafts. */
const makers: (new (options: Options) => Ajv)[] = [Ajv2020, Ajv2019, Ajv];

/** New for each plan, since an instance keeps every schema that it has compiled. */
function compilerOf(
	uri: string,
	schemas: PlanSchema[],
	options: Options,
	numbers: ExactNumbers,
): Ajv {
	const index = drafts.findIndex((draft) => draft.uri === uri);
	const ajv = new (makers[index] ?? Ajv)(options);
	useMeteredKeywords(ajv, numbers);
	// Its code is long, and few schemas need it.
	if (!/"unevaluated(?:Properties|Items)":/.test(JSON.stringify(schemas)))
		ajv.opts.unevaluated = false;
	return ajv;
}

function invalid(
	{ schema, draft, uri }: PlanSchema,
	ajv: Ajv,
): string | undefined {
	try {
		if (!ajv.validateSchema(schema))
			return `is not ${draft.title}: ${wordsOf(ajv)}.`;
		ajv.addSchema(schema as object, uri);
		return undefined;
	} catch (error) {
		return `can't be used: ${messageOf(error)}.`;
	}
}

/** Only compiling finds a $ref without a target. */
function unusable({ uri }: PlanSchema, ajv: Ajv): string | undefined {
	try {
		ajv.getSchema(uri);
		return undefined;
	} catch (error) {
		return `can't be used: ${messageOf(error)}.`;
	}
}

function wordsOf(ajv: Ajv): string {
	return (ajv.errors ?? [])
		.slice(0, 3)
		.map(({ instancePath, keyword, params }) => {
			const { type, allowedValues, values } = params as Record<string, unknown>;
			const wanted = type ?? allowedValues ?? values;
			return wanted
				? `${instancePath} must be ${String(wanted)}`
				: `${instancePath} violates ${keyword}`;
		})
		.join(", ");
}

function messageOf(error: unknown): string {
	return error instanceof RangeError
		? "it is nested too deeply"
		: (error as Error).message;
}

/** What a plan's schemas may not have beyond what their draft says, for people; undefined if all is well. */
function schemaFault(
	{ schema, draft }: PlanSchema,
	numbers: ExactNumbers,
): string | undefined {
	if (typeof schema !== "object") return undefined;
	if (!drafts.includes(draft))
		return `has the $schema ${JSON.stringify(schema.$schema)}. Take one of ${drafts.map(({ uri }) => uri).join(", ")}.`;
	return hiddenFault(schema, numbers) ?? patternsFault(schema);
}

/** Anywhere, because a `$ref` may point at what is no schema's place. */
function hiddenFault(
	schema: SchemaKeywords,
	numbers: ExactNumbers,
): string | undefined {
	const open: object[] = [schema];
	for (let next = open.pop(); next; next = open.pop())
		for (const [key, value] of Object.entries(next)) {
			// ajv writes it into a comment of its code as it is, and runs the code.
			if (key === "$id" && JSON.stringify(value).includes("*/"))
				return `has the $id ${JSON.stringify(value)}. It must not contain "*/".`;
			if (key === "$async" && value === true)
				return "has $async, which is no keyword of JSON Schema. Remove it.";
			const number =
				typeof value === "number" ? numbers.textOf(value) : undefined;
			if (number !== undefined && isTooLarge(number))
				return `has the number ${cut(number, 40)}. It must have at most 400 digits, and an exponent of at most ±400.`;
			if (isObject(value)) open.push(value);
		}
	return undefined;
}

function patternsFault(root: SchemaKeywords): string | undefined {
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
