import type { SchemaObject } from "../../crds/json-schema.ts";
import {
	type ResourceSchema,
	readResourceSchemas,
} from "../../crds/resource-schema.ts";
import { type ApiResource, apiResources } from "../resources/api-resource.ts";
import { resourceNamePattern } from "../resources/resource-body.ts";
import {
	answerSchema,
	bodyParts,
	patchSchema,
	requestSchema,
} from "./body-schema.ts";
import {
	eventSchemas,
	refusedSchemas,
	testEventSchemas,
} from "./event-schemas.ts";
import { problemSchema } from "./responses.ts";
import { tokenSchemas } from "./token-schemas.ts";
import { exportSchemas, importSchemas } from "./transfer-schemas.ts";

/** The schemas of all bodies by name, derived from the CRDs, with spec and status at one level as in the views. */
export function openApiSchemas(): Record<string, SchemaObject> {
	const crds = new Map(readResourceSchemas().map((crd) => [crd.kind, crd]));
	return {
		...Object.assign(
			{},
			...apiResources.map((resource) =>
				resourceSchemas(resource, crds.get(resource.kind.kind)!),
			),
		),
		...runSchemas(crds.get("Run")!),
		...exportSchemas,
		...importSchemas,
		...testEventSchemas,
		...eventSchemas,
		...tokenSchemas,
		...refusedSchemas,
		TokenList: listSchema("Token"),
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
const labels = {
	description:
		"Labels to select by. Kubernetes says what a key and a value may have.",
	type: "object",
	additionalProperties: { type: "string" },
	examples: [{ team: "shop" }],
};
const removableLabels = {
	...labels,
	additionalProperties: { type: ["string", "null"] },
};
const headOfAll = ["name", "id", "createTime", "updateTime", "generation"];

function resourceSchemas(
	resource: ApiResource,
	{ kind, schema }: ResourceSchema,
): Record<string, SchemaObject> {
	const { spec, status } = bodyParts(schema);
	const wanted = requestSchema(spec, resource.secretFields);
	const shown = answerSchema({
		properties: { ...head, labels, ...status.properties, ...spec.properties },
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
				labels,
				...wanted.properties,
			},
			examples: [resource.example],
		},
		[`${kind}Update`]: {
			...patchSchema({
				...wanted,
				properties: { labels: removableLabels, ...wanted.properties },
				type: "object",
			}),
			type: "object",
			description:
				"A JSON Merge Patch (RFC 7396): null removes a field, and a list replaces the whole list.",
			examples: [{ displayName: "Another label" }],
		},
	};
}

function runSchemas({ schema }: ResourceSchema): Record<string, SchemaObject> {
	const { spec, status } = bodyParts(schema);
	const { pipelineRef: _, cancel, dates, full } = spec.properties;
	const { status: state } = status.properties;
	const rows = { type: "integer", minimum: 0 };
	return {
		Run: {
			description: schema.description,
			type: "object",
			required: [...headOfAll, "pipeline", "status"],
			...answerSchema({
				properties: {
					...head,
					labels,
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

function listSchema(kind: string): SchemaObject {
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

const date = { type: "string", format: "date" };

/** The answer of a preview. */
const previewSchema: SchemaObject = {
	description:
		"When a pipeline runs next, and what a run that starts now loads. If the table, the columns or the source have changed since the last run, it loads all dates of the pipeline instead.",
	type: "object",
	required: ["name", "nextRuns", "table", "strategy"],
	properties: {
		name: { description: "Name of the pipeline.", type: "string" },
		nextRuns: {
			description:
				"The next five times of the schedule. None if it is manual or suspended.",
			type: "array",
			items: { type: "string", format: "date-time" },
		},
		table: { description: "Name of the table.", type: "string" },
		strategy: {
			description:
				"`Incremental`: a run replaces the days that it loads. `FullReload`: it replaces the whole table.",
			type: "string",
		},
		dates: {
			description:
				"The UTC dates, both included. Those before the source's first event have nothing. Absent if there is none.",
			type: "object",
			required: ["start", "end"],
			properties: { start: date, end: date },
		},
	},
};
