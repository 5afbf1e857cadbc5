// ajv: the JSON Schema validator that fastify uses, too. ajv-formats: the formats that JSON Schema names.
import { Ajv, type Options } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import ajvFormats from "ajv-formats";
import type { TrackingPlanSpec } from "../../crds/generated/types.ts";

/** What is wrong with the first invalid schema of a plan, for people; undefined if all are valid. */
export function schemaFault({
	common,
	events = [],
}: TrackingPlanSpec): string | undefined {
	// New for each plan, since an instance keeps every schema that it has compiled.
	const compilers = new Map<string, Ajv>();
	const schemas = [
		{ place: "spec.common", schema: common },
		...events.map(({ type, schema }, index) => ({
			place: `spec.events[${index}].schema (of "${type}")`,
			schema,
		})),
	];
	for (const { place, schema } of schemas) {
		if (schema === undefined) continue;
		const fault = faultOf(schema as Record<string, unknown>, compilers);
		if (fault !== undefined) return `${place} ${fault}`;
	}
	return undefined;
}

const drafts: Record<string, { name: string; make: () => Ajv }> = {
	"https://json-schema.org/draft/2020-12/schema": {
		name: "JSON Schema 2020-12",
		make: () => new Ajv2020(options),
	},
	"https://json-schema.org/draft/2019-09/schema": {
		name: "JSON Schema 2019-09",
		make: () => new Ajv2019(options),
	},
	"http://json-schema.org/draft-07/schema": {
		name: "JSON Schema draft-07",
		make: () => new Ajv(options),
	},
};
const [defaultDraft] = Object.keys(drafts);

const options: Options = {
	// Unknown keywords are no error (JSON Schema 2020-12 Core §4.3.1).
	strict: false,
	logger: false,
	// Otherwise each reference becomes a copy of what it refers to: 13 KB of schema grow to gigabytes.
	inlineRefs: false,
};

function faultOf(
	schema: Record<string, unknown>,
	compilers: Map<string, Ajv>,
): string | undefined {
	const named = schema.$schema ?? defaultDraft;
	const uri = String(named).replace(/#$/, "");
	const draft = Object.hasOwn(drafts, uri) ? drafts[uri] : undefined;
	if (!draft)
		return `has the $schema ${JSON.stringify(named)}. Take one of ${Object.keys(drafts).join(", ")}.`;
	let compiler = compilers.get(uri);
	if (!compiler) {
		compiler = draft.make();
		ajvFormats.default(compiler);
		compilers.set(uri, compiler);
	}
	try {
		if (!compiler.validateSchema(schema))
			return `is not ${draft.name}: ${compiler.errorsText(compiler.errors, { dataVar: "" })}.`;
		// Only this finds a pattern that is no regular expression, or a $ref without a target.
		compiler.compile(schema);
		return undefined;
	} catch (error) {
		return `can't be used: ${(error as Error).message}.`;
	}
}
