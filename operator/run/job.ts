import { createHash } from "node:crypto";
import {
	type Pipeline,
	type Run,
	type RunStatus,
	runKind,
} from "../../crds/generated/types.ts";
import { annotation, label, managedByTidemill } from "../../crds/labels.ts";
import { latestViewOf } from "../../crds/table-name.ts";
import type { LoadInput } from "../../packages/contracts/job.ts";
import type { LoadExtent } from "../../packages/contracts/manifest.ts";
import { type JobWithInput, jobWithInput } from "../jobs/template.ts";
import { mayAdopt } from "../pipeline/table-owners.ts";
import { type LoadTarget, loadTemplate } from "../pipeline/target.ts";
import {
	comparedWarehouse,
	otherTableOptionsOf,
	tableOptionsOf,
} from "../pipeline/warehouse.ts";

export interface RunJobOptions {
	/** A credential: only the Secret may hold it. */
	manifestURL: string;
	/** See {@link LoadInput}. */
	authorities?: string;
	extent: LoadExtent;
	/** See {@link LoadInput}. */
	counts?: LoadInput["counts"];
	image: string;
	activeDeadlineSeconds: number;
}

export function inputSecretName(run: string): string {
	return `${run}-input`;
}

/** The Job that carries out a Run, and its input. */
export function runJob(
	run: Run,
	pipeline: Pipeline,
	target: LoadTarget,
	options: RunJobOptions,
): JobWithInput {
	const { image, activeDeadlineSeconds } = options;
	const { name } = run.metadata;
	const labels = {
		...managedByTidemill,
		[label.pipeline]: pipeline.metadata.name,
		[label.run]: name,
		[label.warehouse]: warehouseLabel(target.layout.destination),
		[label.extent]: options.extent,
	};
	return jobWithInput(
		{
			kind: runKind,
			owner: run,
			jobName: name,
			secretName: inputSecretName(name),
			labels,
		},
		loadInput(run, pipeline, target, options),
		{ ...loadTemplate(pipeline, target, image), activeDeadlineSeconds },
	);
}

/** A digest, since a label's value can't hold a path: it is at most 63 letters and digits. */
export function warehouseLabel(warehouse: string): string {
	return createHash("sha256")
		.update(comparedWarehouse(warehouse))
		.digest("hex")
		.slice(0, 16);
}

function loadInput(
	run: Run,
	pipeline: Pipeline,
	target: LoadTarget,
	{ manifestURL, authorities, counts }: RunJobOptions,
): LoadInput {
	const { metadata } = run;
	const { sourceRef, table } = pipeline.spec;
	const account = metadata.namespace!;
	const { quarantine, rejected, filter, eventTypes, room } = target;
	const { type } = target.access.input;
	const options = tableOptionsOf(pipeline, type);
	const otherOptions = otherTableOptionsOf(pipeline, type);
	// People describe the table that they look at.
	const { description: _, ...others } = options ?? {};
	const words = `Source ${account}/${sourceRef.name}, loaded by Tidemill's Pipeline ${account}/${pipeline.metadata.name}`;
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
			description: `Events of ${words}`,
			...(options && { options }),
			...(!eventTypes && {
				latest: {
					name: latestViewOf(target.tableName),
					by: table.latestBy ?? [],
				},
			}),
		},
		...(quarantine && {
			quarantineTable: {
				name: quarantine.tableName,
				columns: quarantine.columns,
				description: `Events in quarantine of ${words}`,
				...(options && { options: others }),
			},
		}),
		...(rejected && {
			rejectedTable: {
				name: rejected.tableName,
				description: `Values that columns of table ${target.tableName} couldn't hold, of ${words}`,
				...(otherOptions && { options: otherOptions }),
			},
		}),
		...(filter && { filter }),
		...(eventTypes && { eventTypes }),
		...(room && { evolves: room }),
		strategy: target.strategy,
		// Who creates a Run may have changed rows by hand, and wants them back.
		...(triggerOf(run) === "Schedule" && { adds: true }),
		...(run.spec.acceptLoss && { acceptLoss: run.spec.acceptLoss }),
		...(run.spec.full && { full: true }),
		rebuild: table.onIncompatible === "Rebuild",
		...(mayAdopt(pipeline, target.layout) && { adopt: true }),
		...(counts && { counts }),
		manifestURL,
		...(authorities !== undefined && { authorities }),
	};
}

/** What created a Run. Its status has it from the start on. */
export function triggerOf({
	metadata,
	status,
}: Run): NonNullable<RunStatus["trigger"]> {
	if (status?.trigger) return status.trigger;
	const { annotations = {} } = metadata;
	if (annotations[annotation.trigger] === "Schedule") return "Schedule";
	return annotations[annotation.request] === undefined ? "Manual" : "API";
}
