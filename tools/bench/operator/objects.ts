import type {
	DestinationSpec,
	PipelineSchedule,
	PipelineSpec,
	SourceSpec,
} from "../../../crds/generated/types.ts";
import { label } from "../../../crds/labels.ts";
import type {
	KubeObject,
	ResourceKind,
} from "../../../packages/kube/resource.ts";

export interface CronJob extends KubeObject {
	spec: { schedule: string };
}

export const cronJobKind: ResourceKind<CronJob> = {
	group: "batch",
	version: "v1",
	kind: "CronJob",
	plural: "cronjobs",
	namespaced: true,
};

const usualPipelines = 2_000;
const pipelines = Number(process.env.BENCH_PIPELINES || usualPipelines);

export const counts = {
	sources: pipelines / 4,
	destinations: pipelines / 40,
	pipelines,
	/** None where only starts are measured. */
	cronJobs: pipelines === usualPipelines ? pipelines : 0,
	/** Pipelines, and as many CronJobs, that come due in one minute of the bench. */
	due: 200,
} as const;

export const namespace = "bench";

/** A resource as a person writes it: server-side apply fills in the defaults. */
export type Written<Spec> = {
	metadata: { name: string; namespace: string };
} & {
	spec: Partial<Spec>;
};

export function source(name: string): Written<SourceSpec> {
	return { metadata: { name, namespace }, spec: { type: "Webhook" } };
}

/** The volume of every Destination. */
export const volumeClaim = {
	metadata: { name: "warehouse", namespace, labels: { [label.use]: "true" } },
	spec: {
		accessModes: ["ReadWriteOnce"],
		resources: { requests: { storage: "1Gi" } },
	},
};

export function destination(name: string): Written<DestinationSpec> {
	return {
		metadata: { name, namespace },
		spec: {
			type: "DuckDB",
			duckDB: { path: `${name}.duckdb`, volumeClaimName: "warehouse" },
		},
	};
}

export function pipeline(
	name: string,
	index: number,
	schedule: PipelineSchedule,
): Written<PipelineSpec> {
	return {
		metadata: { name, namespace },
		spec: {
			sourceRef: { name: nameOf("source", index % counts.sources) },
			destinationRef: {
				name: nameOf("destination", index % counts.destinations),
			},
			schedule,
		},
	};
}

/** Kubernetes' own nearest equivalent of a Pipeline. */
export function cronJob(name: string, schedule: string) {
	return {
		metadata: { name, namespace },
		spec: {
			schedule,
			timeZone: "Etc/UTC",
			jobTemplate: {
				spec: {
					template: {
						spec: {
							restartPolicy: "Never",
							containers: [{ name: "job", image: "job" }],
						},
					},
				},
			},
		},
	};
}

export function nameOf(kind: string, index: number): string {
	return `${kind}-${index}`;
}

/** Daily, Interval, Cron and Manual in turn. None comes due while the bench runs. */
export function distantSchedule(
	index: number,
	nowMs: number,
): PipelineSchedule {
	const far = new Date(nowMs + (6 + (index % 12)) * hourMs);
	const [hour, minute] = [far.getUTCHours(), index % 60];
	const twoDigits = (value: number) => String(value).padStart(2, "0");
	const timeZone = "UTC";
	switch (index % 4) {
		case 0:
			return {
				type: "Daily",
				updateTime: `${twoDigits(hour)}:${twoDigits(minute)}`,
				timeZone,
			};
		case 1:
			return { type: "Interval", interval: distantInterval(nowMs), timeZone };
		case 2:
			return { type: "Cron", cron: `${minute} ${hour} * * *`, timeZone };
		default:
			return { type: "Manual", timeZone };
	}
}

/** Slots are multiples of the interval since the epoch. */
function distantInterval(nowMs: number): string {
	const hours = [5, 7, 11, 13].find(
		(candidate) =>
			candidate * hourMs - (nowMs % (candidate * hourMs)) > hourMs / 2,
	);
	return `${hours}h`;
}

export function cronAt(instantMs: number): string {
	const at = new Date(instantMs);
	return `${at.getUTCMinutes()} ${at.getUTCHours()} * * *`;
}

const hourMs = 3_600_000;
