import { createHash } from "node:crypto";
import type { LoadInput } from "../../contracts/job.ts";
import {
	type Pipeline,
	type Run,
	runKind,
} from "../../crds/generated/types.ts";
import { label, managedByTidemill } from "../../crds/labels.ts";
import type { Job, Secret } from "../../kube/kinds.ts";
import { controllerReference } from "../../kube/resource.ts";
import { jobSpec } from "../job/template.ts";
import type { Target } from "../pipeline/target.ts";

/** What carries out a Run: its Job, and the Secret that is mounted as the Job's input. The Run owns both. */
export interface RunJob {
	job: Job;
	secret: Secret;
}

export interface RunJobOptions {
	/** A secret: it stands in the Secret and nowhere else. */
	manifestURL: string;
	/** See {@link LoadInput}. */
	authorities?: string;
	image: string;
	activeDeadlineSeconds: number;
}

export function inputSecretName(run: string): string {
	return `${run}-input`;
}

export function runJob(
	run: Run,
	pipeline: Pipeline,
	target: Target,
	options: RunJobOptions,
): RunJob {
	const { image, activeDeadlineSeconds } = options;
	const { name, namespace } = run.metadata;
	const { runTemplate } = pipeline.spec;
	const labels = {
		...managedByTidemill,
		[label.pipeline]: pipeline.metadata.name,
		[label.run]: name,
		[label.warehouse]: warehouseLabel(target.layout.destination),
	};
	const owned = {
		namespace: namespace!,
		labels,
		ownerReferences: [controllerReference(runKind, run)],
	};
	const { input: _, ...access } = target.access;
	const input = loadInput(run, pipeline, target, options);
	return {
		secret: {
			apiVersion: "v1",
			kind: "Secret",
			metadata: { ...owned, name: inputSecretName(name) },
			data: {
				"input.json": Buffer.from(JSON.stringify(input)).toString("base64"),
			},
		},
		job: {
			apiVersion: "batch/v1",
			kind: "Job",
			metadata: { ...owned, name },
			spec: jobSpec({
				command: "load",
				image,
				labels,
				inputSecret: inputSecretName(name),
				...access,
				...(runTemplate.resources && {
					resources: quantities(runTemplate.resources),
				}),
				retries: runTemplate.retries,
				activeDeadlineSeconds,
			}),
		},
	};
}

/** A label's value holds no path: 63 characters of letters and digits at most. */
export function warehouseLabel(warehouse: string): string {
	return createHash("sha256").update(warehouse).digest("hex").slice(0, 16);
}

function loadInput(
	{ metadata }: Run,
	pipeline: Pipeline,
	target: Target,
	{ manifestURL, authorities }: RunJobOptions,
): LoadInput {
	const { sourceRef, table } = pipeline.spec;
	const account = metadata.namespace!;
	return {
		version: 1,
		run: {
			name: metadata.name,
			uid: metadata.uid!,
			account,
			pipeline: pipeline.metadata.name,
		},
		destination: target.access.input,
		table: {
			name: target.tableName,
			columns: target.columns,
			description: `Events of Source ${account}/${sourceRef.name}, loaded by Tidemill's Pipeline ${account}/${pipeline.metadata.name}`,
		},
		strategy: target.strategy,
		rebuild: table.onIncompatible === "Rebuild",
		manifestURL,
		...(authorities !== undefined && { authorities }),
	};
}

/** Our API takes `cpu: 1`; the type of a Pod's resources has text only. */
function quantities(
	resources: NonNullable<Pipeline["spec"]["runTemplate"]["resources"]>,
) {
	const asText = (amounts: Record<string, number | string> = {}) =>
		Object.fromEntries(
			Object.entries(amounts).map(([name, amount]) => [name, String(amount)]),
		);
	return {
		requests: asText(resources.requests),
		limits: asText(resources.limits),
	};
}
