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
	sendAgainSchemas,
	testEventSchemas,
} from "./event-schemas.ts";
import {
	choice,
	count,
	integer,
	list,
	object,
	schemaRef,
	text,
	texts,
	time,
} from "./fields.ts";
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
		...sendAgainSchemas,
		...eventSchemas,
		...tokenSchemas,
		...refusedSchemas,
		TokenList: listSchema("Token"),
		PipelinePreview: previewSchema,
		Problem: problemSchema,
	};
}

const readOnly = { readOnly: true };

const head = {
	name: text("Name of the resource. It can't change.", {
		maxLength: 63,
		...readOnly,
	}),
	id: text(
		"Identifies the resource for ever: a later one of the same name has another `id`.",
		readOnly,
	),
	createTime: time("When it was created.", readOnly),
	updateTime: time(
		"When anything in it last changed, its status too.",
		readOnly,
	),
	generation: integer(
		"Increases with every change of what people set. The other fields show it once `observedGeneration` is the same.",
		readOnly,
	),
	managedBy: {
		...choice(
			"The GitOps tool that manages the resource and will undo changes made here. Absent if no tool does.",
			["ArgoCD", "Flux", "Helm"],
		),
		...readOnly,
	},
};
const labels = texts(
	"Labels to select by. Kubernetes says what a key and a value may have.",
	{ examples: [{ team: "shop" }] },
);
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
				name: text("Name of the resource. It can't change.", {
					pattern: resourceNamePattern,
				}),
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
	return {
		Run: {
			description: schema.description,
			type: "object",
			required: [...headOfAll, "pipeline", "status"],
			...answerSchema({
				properties: {
					...head,
					labels,
					pipeline: text("Name of the Pipeline."),
					cancel,
					full,
					...status.properties,
				},
			}),
		},
		RunList: listSchema("Run"),
		RunStart: object(
			"The days to load. If empty, the pipeline's rules decide.",
			{ "dates?": dates!, "full?": full! },
			{
				additionalProperties: false,
				examples: [
					{},
					{ dates: { start: "2026-01-01", end: "2026-01-02" } },
					{ full: true },
				],
			},
		),
		RunProgress: object("The progress of a run. Unknown fields are absent.", {
			status: state!,
			"daysDone?": count("Days loaded so far."),
			"daysTotal?": count("Days to load."),
			"rowsDone?": count("Rows loaded so far."),
			"rowsTotal?": count("Rows to load."),
		}),
	};
}

function listSchema(kind: string): SchemaObject {
	return object("A page of a list.", {
		items: { type: "array", items: schemaRef(kind) },
		"cursor?": text("Pass it to get the next page. Absent on the last page."),
		"total?": integer(
			"How many there are on all pages. Absent where counting them would cost more.",
		),
	});
}

const day = { type: "string", format: "date" };

/** The answer of a preview. */
const previewSchema = object(
	"When a pipeline runs next, and what a run that starts now loads. If the table, the columns or the source have changed since the last run, it loads all dates of the pipeline instead.",
	{
		name: text("Name of the pipeline."),
		nextRuns: list(
			"The next five times of the schedule. None if it is manual or suspended.",
			{ type: "string", format: "date-time" },
		),
		table: text("Name of the table."),
		strategy: text(
			"`Incremental`: a run replaces the days that it loads. `FullReload`: it replaces the whole table.",
		),
		"dates?": object(
			"The UTC dates, both included. Those before the source's first event have nothing. Absent if there is none.",
			{ start: day, end: day },
		),
	},
);
