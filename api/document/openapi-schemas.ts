import { type JsonSchema, jsonSchema } from "../../crds/json-schema.ts";
import {
	type ResourceSchema,
	readResourceSchemas,
	type Schema,
} from "../../crds/resource-schema.ts";
import { errorCodes, maxDetails } from "../http/errors.ts";
import { type ApiResource, apiResources } from "../resources/api-resource.ts";
import { resourceNamePattern } from "../resources/resource-name.ts";
import type { SecretField } from "../resources/secret-fields.ts";
import { shownName } from "../resources/views.ts";
import { previewSchema } from "./preview-schema.ts";
import { ruleSchema } from "./rule-schema.ts";

/** The schemas of all bodies by name, derived from the CRDs, with spec and status at one level as in the views. */
export function openApiSchemas(): Record<string, JsonSchema> {
	const crds = new Map(readResourceSchemas().map((crd) => [crd.kind, crd]));
	return {
		...Object.assign(
			{},
			...apiResources.map((resource) =>
				resourceSchemas(resource, crds.get(resource.kind.kind)!),
			),
		),
		...runSchemas(crds.get("Run")!),
		PipelinePreview: previewSchema,
		Problem: problemSchema,
	};
}

const time = { type: "string", format: "date-time", readOnly: true };

const head = {
	name: {
		description: "Name of the resource. It can't change.",
		type: "string",
		maxLength: 63,
		readOnly: true,
	},
	id: {
		description:
			"Identifies the resource for ever: a later one of the same name has another `id`.",
		type: "string",
		readOnly: true,
	},
	createTime: { description: "When it was created.", ...time },
	updateTime: {
		description: "When anything in it last changed, its status too.",
		...time,
	},
	generation: {
		description:
			"Increases with every change of what people set. The other fields show it once `observedGeneration` is the same.",
		type: "integer",
		readOnly: true,
	},
	managedBy: {
		description:
			"The GitOps tool that manages the resource and will undo changes made here. Absent if no tool does.",
		type: "string",
		enum: ["ArgoCD", "Flux", "Helm"],
		readOnly: true,
	},
};
const headOfAll = ["name", "id", "createTime", "updateTime", "generation"];

function resourceSchemas(
	resource: ApiResource,
	{ kind, schema }: ResourceSchema,
): Record<string, JsonSchema> {
	const { spec, status } = partsOf(schema);
	const wanted = requestSchema(
		resource.secretFields.reduce(withInlineSecret, spec),
	) as ObjectSchema;
	const shown = tolerant({
		properties: { ...head, ...status.properties, ...spec.properties },
	});
	return {
		[kind]: {
			description: schema.description,
			type: "object",
			required: [...headOfAll, ...(spec.required ?? [])],
			...shown,
		},
		[`${kind}List`]: listSchema(kind),
		[`${kind}Create`]: {
			...wanted,
			description: `A new ${kind}. If name is absent, it is derived from displayName.`,
			properties: {
				name: {
					description: "Name of the resource. It can't change.",
					type: "string",
					pattern: resourceNamePattern,
				},
				...wanted.properties,
			},
			examples: [resource.example],
		},
		[`${kind}Update`]: {
			...patchSchema({ ...wanted, type: "object" }),
			type: "object",
			description:
				"A JSON Merge Patch (RFC 7396): null removes a field, and a list replaces the whole list.",
			examples: [{ displayName: "Another label" }],
		},
	};
}

function runSchemas({ schema }: ResourceSchema): Record<string, JsonSchema> {
	const { spec, status } = partsOf(schema);
	const { pipelineRef: _, cancel, dates, full } = spec.properties;
	const { status: state } = status.properties;
	const rows = { type: "integer", minimum: 0 };
	return {
		Run: {
			description: schema.description,
			type: "object",
			required: [...headOfAll, "pipeline", "status"],
			...tolerant({
				properties: {
					...head,
					pipeline: { description: "Name of the Pipeline.", type: "string" },
					cancel,
					full,
					...status.properties,
				},
			}),
		},
		RunList: listSchema("Run"),
		RunStart: {
			description: "The days to load. If empty, the pipeline's rules decide.",
			type: "object",
			properties: { dates, full },
			additionalProperties: false,
			examples: [
				{},
				{ dates: { start: "2026-01-01", end: "2026-01-02" } },
				{ full: true },
			],
		},
		RunProgress: {
			description: "The progress of a run. Unknown fields are absent.",
			type: "object",
			required: ["status"],
			properties: {
				status: state!,
				daysDone: { description: "Days loaded so far.", ...rows },
				daysTotal: { description: "Days to load.", ...rows },
				rowsDone: { description: "Rows loaded so far.", ...rows },
				rowsTotal: { description: "Rows to load.", ...rows },
			},
		},
	};
}

const problemSchema: JsonSchema = {
	description:
		"An error: what is wrong and what to do next, as problem details (RFC 9457).",
	type: "object",
	required: ["type", "title", "status", "detail", "code", "details"],
	properties: {
		type: {
			description: "Where the error is explained.",
			type: "string",
			format: "uri-reference",
		},
		title: { description: "What is wrong, in general.", type: "string" },
		status: { description: "The HTTP status.", type: "integer" },
		detail: {
			description: "What is wrong with this request and what to do next.",
			type: "string",
		},
		instance: {
			description: "The `X-Request-Id`, as a URN.",
			type: "string",
			format: "uri-reference",
		},
		code: {
			description: "For programs. Codes never change.",
			type: "string",
			enum: Object.keys(errorCodes),
		},
		details: {
			description: `All invalid fields, if fields are invalid, ${maxDetails} at most.`,
			type: "array",
			maxItems: maxDetails,
			items: {
				type: "object",
				required: ["path", "message"],
				properties: {
					path: {
						description:
							"A field of the body, such as `dates.start`, or a query parameter or header.",
						type: "string",
					},
					message: { type: "string" },
				},
			},
		},
	},
};

function listSchema(kind: string): JsonSchema {
	return {
		description: "A page of a list.",
		type: "object",
		required: ["items"],
		properties: {
			items: {
				type: "array",
				items: { $ref: `#/components/schemas/${kind}` },
			},
			cursor: {
				description: "Pass it to get the next page. Absent on the last page.",
				type: "string",
			},
			total: {
				description:
					"How many there are on all pages. Absent where counting them would cost more.",
				type: "integer",
			},
		},
	};
}

type ObjectSchema = JsonSchema & {
	properties: Record<string, JsonSchema>;
	required?: string[];
};

function partsOf(schema: Schema): { spec: ObjectSchema; status: ObjectSchema } {
	const { spec, status } = schema.properties!;
	return {
		spec: withRules(spec!) as ObjectSchema,
		status: shownPart(withRules(status!)) as ObjectSchema,
	};
}

/** The schema of what the view of a status has. */
function shownPart(schema: JsonSchema): JsonSchema {
	return mapSchema(schema, ({ properties, required, ...part }) => {
		const shown = (names: unknown) =>
			(names as string[]).flatMap((name) => shownName(name) ?? []);
		return {
			...part,
			...(required !== undefined && { required: shown(required) }),
			...(properties !== undefined && {
				properties: Object.fromEntries(
					Object.entries(properties!).flatMap(([name, field]) =>
						shown([name]).map((name) => [name, field]),
					),
				),
			}),
		};
	});
}

/** The CRD's schema with its rules, as far as JSON Schema can express them. */
function withRules(crd: Schema): JsonSchema {
	const result = jsonSchema(crd);
	if (crd.properties)
		result.properties = Object.fromEntries(
			Object.entries(crd.properties).map(([name, field]) => [
				name,
				withRules(field),
			]),
		);
	if (crd.items) result.items = withRules(crd.items);
	const rules = (crd["x-kubernetes-validations"] ?? []).map(ruleSchema);
	if (rules.length > 0) result.allOf = rules;
	return result;
}

/** Wherever the CRD has a reference to a Secret, the API also accepts the secret itself. */
function withInlineSecret(
	schema: ObjectSchema,
	{ at, inline, ref, description }: SecretField,
): ObjectSchema {
	const [first, ...rest] = at;
	if (first === undefined) {
		const text = { type: "string", minLength: 1, maxLength: 65_536 };
		const value =
			ref === "secretRefs"
				? { type: "array", minItems: 1, maxItems: 5, items: text }
				: text;
		return {
			...schema,
			required: (schema.required ?? []).filter((name) => name !== ref),
			oneOf: [{ required: [ref] }, { required: [inline] }],
			properties: {
				...schema.properties,
				[inline]: { description, writeOnly: true, ...value },
			},
		};
	}
	const inner = schema.properties[first] as ObjectSchema;
	const field = { at: rest, inline, ref, description };
	return {
		...schema,
		properties: {
			...schema.properties,
			[first]: withInlineSecret(inner, field),
		},
	};
}

/** For answers: clients must accept unknown fields, because the API may add fields. */
function tolerant(schema: JsonSchema): JsonSchema {
	return mapSchema(schema, (part) => {
		const { additionalProperties, allOf: _, ...rest } = part;
		return additionalProperties === undefined || additionalProperties === false
			? rest
			: { ...rest, additionalProperties };
	});
}

/** For a JSON Merge Patch: nothing is required, and null removes a field. */
function patchSchema(schema: JsonSchema): JsonSchema {
	return mapSchema(schema, (part, isItem) => {
		// A patch replaces whole lists, so their items are complete.
		if (isItem) return part;
		const {
			required: _,
			allOf: _rules,
			oneOf: _one,
			default: _d,
			...rest
		} = part;
		return {
			...rest,
			...(rest.type !== undefined && { type: [rest.type, "null"].flat() }),
			...(Array.isArray(rest.enum) && { enum: [...rest.enum, null] }),
		};
	});
}

/**
 * For a request. Generators of clients take a field with a default for one that is always there, as it is in answers
 * (openapi-typescript's `defaultNonNullable`), so the default becomes words.
 */
function requestSchema(schema: JsonSchema): JsonSchema {
	return mapSchema(schema, ({ default: value, ...part }) =>
		value === undefined
			? part
			: {
					...part,
					description:
						`${part.description ?? ""} Default: \`${JSON.stringify(value)}\`.`.trim(),
				},
	);
}

function mapSchema(
	schema: JsonSchema,
	change: (schema: JsonSchema, isItem: boolean) => JsonSchema,
	isItem = false,
): JsonSchema {
	const result = { ...schema };
	if (result.properties)
		result.properties = Object.fromEntries(
			Object.entries(result.properties as Record<string, JsonSchema>).map(
				([name, field]) => [name, mapSchema(field, change, isItem)],
			),
		);
	if (result.items)
		result.items = mapSchema(result.items as JsonSchema, change, true);
	return change(result, isItem);
}
