import type {
	Destination,
	DestinationSpec,
	Layout,
	Pipeline,
	PipelineSpec,
	PipelineStatus,
	Run,
	RunSpec,
	RunStatus,
	Source,
} from "../../../crds/generated/types.ts";
import { checkHash } from "../../../operator/destination/check.ts";
import type { NotificationState } from "../../../operator/notification/state.ts";
import type { Secret } from "../../../packages/kube/kinds.ts";

/** Resources as the apiserver returns them, settled and ready, for tables of decisions. */

const apiVersion = "tidemill.dev/v1alpha1";
const createdAt = "2026-03-01T00:00:00Z";

function metadata(name: string, createdAt: string) {
	return {
		name,
		namespace: "shop",
		uid: `uid-${name}`,
		generation: 1,
		creationTimestamp: createdAt,
	};
}

const ready = {
	observedGeneration: 1,
	conditions: [
		{
			type: "Ready",
			status: "True" as const,
			reason: "Fine",
			message: "It is.",
			lastTransitionTime: createdAt,
		},
	],
};

/** @param credentials The Secret that the spec names. */
function verified(spec: DestinationSpec, credentials?: Secret) {
	const hash = checkHash(spec, credentials && [credentials]);
	return { ...ready, lastCheck: { hash, failures: 0 } };
}

/** What an installation decides for all accounts: as little as can be. */
export const installation = {
	podPolicy: { labels: [], annotations: [], priorityClasses: [] },
	localWarehouse: undefined,
	clusterDomain: "cluster.local",
	clusterNetworks: [],
};

/** Of a namespace that wants no notifications. */
export const noWebhooks: NotificationState = {
	webhooks: { usable: [] },
	deliveries: new Map(),
};

export function sourceOf(
	name = "orders",
	status: Source["status"] = { ...ready, sourceKey: "5".repeat(32) },
): Source {
	return {
		apiVersion,
		kind: "Source",
		metadata: metadata(name, createdAt),
		spec: {
			type: "Webhook",
			webhook: {
				authorization: { type: "None" },
				maxBodyBytes: 1024,
				capturedHeaders: ["x-event"],
			},
			suspend: false,
			retentionDays: 30,
			deletionPolicy: "Retain",
		},
		status,
	};
}

export function destinationOf(
	name = "files",
	path = "events.duckdb",
	status?: Destination["status"],
): Destination {
	const spec: DestinationSpec = {
		type: "DuckDB",
		duckDB: { path, volumeClaimName: "claim" },
	};
	return {
		apiVersion,
		kind: "Destination",
		metadata: metadata(name, createdAt),
		spec,
		status: status ?? verified(spec),
	};
}

export function bigQueryOf(
	name = "lake",
	bigQuery: Partial<Destination["spec"]["bigQuery"]> = {},
	credentials?: Secret,
): Destination {
	const spec: DestinationSpec = {
		type: "BigQuery",
		bigQuery: {
			projectId: "my-project",
			dataset: "events",
			location: "EU",
			createDataset: false,
			...bigQuery,
		},
	};
	return { ...destinationOf(name), spec, status: verified(spec, credentials) };
}

export function pipelineOf(
	spec: Partial<PipelineSpec> = {},
	options: { name?: string; createdAt?: string; status?: PipelineStatus } = {},
): Pipeline {
	return {
		apiVersion,
		kind: "Pipeline",
		metadata: metadata(
			options.name ?? "load-orders",
			options.createdAt ?? createdAt,
		),
		spec: {
			sourceRef: { name: "orders" },
			destinationRef: { name: "files" },
			table: {
				columns: ["EventID", "Timestamp", "Body", "Date"],
				onIncompatible: "Fail",
			},
			dateRange: { end: "Today" },
			overwritePeriodDays: 1,
			schedule: { type: "Manual", timeZone: "UTC" },
			suspend: false,
			runHistory: { succeeded: 10, failed: 5, days: 30 },
			pendingDeadlineSeconds: 3600,
			runTemplate: { activeDeadlineSeconds: 3600, retries: 3 },
			...spec,
		},
		...(options.status && { status: options.status }),
	};
}

export function runOf(
	name: string,
	status?: RunStatus,
	options: { spec?: Partial<RunSpec>; createdAt?: string } = {},
): Run {
	return {
		apiVersion,
		kind: "Run",
		metadata: metadata(name, options.createdAt ?? createdAt),
		spec: { pipelineRef: { name: "load-orders" }, ...options.spec },
		...(status && { status }),
	};
}

/** The layout of {@link pipelineOf}, {@link sourceOf} and {@link destinationOf} as they are. */
export const layout: Layout = {
	sourceKey: "5".repeat(32),
	destination: "DuckDB:claim/events.duckdb",
	table: "load_orders",
	columns: ["event_id", "timestamp", "body", "date", "header_x_event"],
	strategy: "Incremental",
};
