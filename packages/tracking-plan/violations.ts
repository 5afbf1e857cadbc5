import type { ViolationKind } from "../contracts/tracking-plan.ts";
import { escapeToken } from "./metered/tools.ts";

/** As ajv reports it, with the params of metered/keywords.ts. */
export interface SchemaError {
	instancePath: string;
	keyword: string;
	propertyName?: string;
	params: Record<string, unknown>;
}

/** The errors that a person wants to see: not those of the branches that a union needn't match, and no echoes. */
export function meaningfulErrors(errors: SchemaError[]): SchemaError[] {
	const kept: SchemaError[] = [];
	for (let index = errors.length - 1; index >= 0; ) {
		const error = errors[index]!;
		index--;
		// The errors of its `then` or `else` stand before it.
		if (error.keyword === "if") continue;
		const branches = error.params.branches as number | undefined;
		if (branches === undefined) {
			kept.push(error);
			continue;
		}
		const ofBranches = errors.slice(index + 1 - branches, index + 1);
		index -= branches;
		kept.push(...explained(error, ofBranches));
	}
	return kept.reverse();
}

/** A union that nothing matches: the errors of the branch that was meant, if it is plain which one that is. */
function explained(
	union: SchemaError,
	ofBranches: SchemaError[],
): SchemaError[] {
	const { instancePath, params } = union;
	if (params.passing || ofBranches.length > maxErrorsOfBranches) return [union];
	const [types, others] = partition(
		meaningfulErrors(ofBranches),
		(error) => error.keyword === "type" && error.instancePath === instancePath,
	);
	if (others.length === 0)
		return [
			{
				instancePath,
				keyword: "type",
				params: { type: types.flatMap(({ params: { type } }) => type) },
			},
		];
	if (types.length === (params.of as number) - 1) return others.reverse();
	return [union];
}

const maxErrorsOfBranches = 200;

function partition<T>(all: T[], isOne: (item: T) => boolean): [T[], T[]] {
	return [all.filter(isOne), all.filter((item) => !isOne(item))];
}

/** What an error says is wrong, and where: a JSON Pointer of whatever length. */
export function placeOf(error: SchemaError): {
	kind: ViolationKind;
	path: string;
} {
	const { instancePath, keyword, propertyName } = error;
	const at = propertyOf(error) ?? propertyName;
	return {
		kind: kinds[keyword] ?? "SchemaMismatch",
		path:
			at === undefined ? instancePath : `${instancePath}/${escapeToken(at)}`,
	};
}

/** For people. */
export function wordsOf({
	keyword,
	params,
	propertyName,
}: SchemaError): string {
	const message = messageOf(keyword, params);
	return propertyName === undefined ? message : `has a name that ${message}`;
}

/** Never half a character. */
export function cut(text: string, to = 200): string {
	if (text.length <= to) return text;
	return `${text.slice(0, to - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** The property that an error is about, if that is not the value at its path. */
function propertyOf({ keyword, params }: SchemaError): string | undefined {
	switch (keyword) {
		case "required":
		case "dependentRequired":
		case "dependencies":
			return params.missingProperty as string;
		case "additionalProperties":
			return params.additionalProperty as string;
		case "unevaluatedProperties":
			return params.unevaluatedProperty as string;
		default:
			return undefined;
	}
}

const kinds: Record<string, ViolationKind> = {
	required: "RequiredMissing",
	dependentRequired: "RequiredMissing",
	dependencies: "RequiredMissing",
	additionalProperties: "UnplannedProperty",
	unevaluatedProperties: "UnplannedProperty",
	type: "TypeMismatch",
	enum: "ValueMismatch",
	const: "ValueMismatch",
	format: "FormatMismatch",
	pattern: "FormatMismatch",
	minimum: "OutOfRange",
	maximum: "OutOfRange",
	exclusiveMinimum: "OutOfRange",
	exclusiveMaximum: "OutOfRange",
	minLength: "OutOfRange",
	maxLength: "OutOfRange",
	minItems: "OutOfRange",
	maxItems: "OutOfRange",
	minProperties: "OutOfRange",
	maxProperties: "OutOfRange",
};

function messageOf(keyword: string, params: Record<string, unknown>): string {
	const { limit } = params;
	switch (keyword) {
		case "required":
			return "is required";
		case "dependentRequired":
		case "dependencies":
			return `is required because the event has "${params.property}"`;
		case "additionalProperties":
		case "unevaluatedProperties":
			return unplannedProperty;
		case "type":
			return `must be ${listed([params.type].flat().map(String))}`;
		case "enum":
		case "const":
			return `must be ${listed(firstValues(params.values as unknown[]))}`;
		case "format":
			return `must be of the format ${params.format}`;
		case "pattern":
			return `must match the pattern ${params.pattern}`;
		case "minimum":
		case "maximum":
		case "exclusiveMinimum":
		case "exclusiveMaximum":
			return `must be ${params.comparison} ${limit}`;
		case "multipleOf":
			return `must be a multiple of ${params.multipleOf}`;
		case "minLength":
			return `must have at least ${counted(limit, "character")}`;
		case "maxLength":
			return `must have at most ${counted(limit, "character")}`;
		case "minItems":
			return `must have at least ${counted(limit, "item")}`;
		case "maxItems":
		case "items":
		case "additionalItems":
		case "unevaluatedItems":
			return `must have at most ${counted(limit ?? params.len, "item")}`;
		case "minProperties":
			return `must have at least ${counted(limit, "property")}`;
		case "maxProperties":
			return `must have at most ${counted(limit, "property")}`;
		case "uniqueItems":
			return "must have no item twice";
		case "contains":
			return `must contain ${boundsOf(params)} that the schema describes`;
		case "anyOf":
			return `must match one of the ${params.of} schemas of anyOf`;
		case "oneOf":
			return params.passing
				? `must match only one of the ${params.of} schemas of oneOf, and matches ${(params.passing as number[]).map((branch) => branch + 1).join(" and ")}`
				: `must match one of the ${params.of} schemas of oneOf`;
		case "not":
			return "must not match the schema of not";
		case "false schema":
			return "must not be there";
		default:
			return `must satisfy ${keyword}`;
	}
}

export const unplannedProperty = "is not in the plan";

function boundsOf({
	minContains,
	maxContains,
}: Record<string, unknown>): string {
	return maxContains === undefined
		? `at least ${counted(minContains, "item")}`
		: `${minContains} to ${counted(maxContains, "item")}`;
}

function counted(count: unknown, noun: string): string {
	if (count === 1) return `1 ${noun}`;
	return `${count} ${noun === "property" ? "properties" : `${noun}s`}`;
}

/** As many as a message has room for. */
function firstValues(values: unknown[]): string[] {
	const words = values
		.slice(0, 12)
		.map((value) => cut(JSON.stringify(value), 40));
	return values.length > words.length ? [...words, "…"] : words;
}

function listed(words: string[]): string {
	const unique = [...new Set(words)];
	const last = unique.pop()!;
	return unique.length > 0 ? `${unique.join(", ")} or ${last}` : last;
}
