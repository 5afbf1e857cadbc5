import { encodeResult } from "../../../ingest/job/process.ts";
import { decide as decidePipeline } from "../../../operator/pipeline/decide.ts";
import { decide as decideRun } from "../../../operator/run/decide.ts";
import type { JobResult } from "../../../packages/contracts/job.ts";
import { findCondition } from "../../../packages/kube/conditions.ts";
import type { Job, Pod } from "../../../packages/kube/kinds.ts";
import { GoogleRefusal } from "../../../packages/warehouses/bigquery/load/rest/google-refusal.ts";
import { Fault } from "../doubles/bigquery/fault.ts";
import { terminated } from "../doubles/kubernetes/terminated-pod.ts";
import {
	bigQueryOf,
	noWebhooks,
	pipelineOf,
	runOf,
	sourceOf,
} from "./resource-examples.ts";

/** A reason that BigQuery gives when it says no. */
export interface BigQueryError {
	reason: string;
	/** The documented status of a request that is refused so; 0 where a job ends so that had been accepted. */
	status: number;
	/** As BigQuery words it, or nearly. */
	message: string;
}

/**
 * All of cloud.google.com/bigquery/docs/error-messages, where a load is most likely to meet them. But for
 * proxyAuthenticationRequired, which is a proxy's: the Fetch Standard makes a network error of HTTP 407.
 */
export const bigQueryErrors: BigQueryError[] = [
	[
		403,
		"accessDenied",
		"Access Denied: Table p:d.orders: Permission bigquery.tables.updateData denied on table p:d.orders",
	],
	[400, "attributeError", "Attribute error"],
	[401, "authError", "Request had invalid authentication credentials"],
	[0, "backendError", "Error encountered during execution"],
	[400, "badRequest", "Bad request"],
	[
		403,
		"billingNotEnabled",
		"Billing has not been enabled for this project. Enable billing at https://console.cloud.google.com/billing",
	],
	[
		400,
		"billingTierLimitExceeded",
		"Query exceeded resource limits for tier 1",
	],
	[403, "blocked", "Operation is temporarily blocked for this project"],
	[409, "duplicate", "Already Exists: Job p:EU.tidemill_1"],
	[
		0,
		"internalError",
		"An internal error occurred and the request could not be completed",
	],
	[
		0,
		"invalid",
		"Provided Schema does not match Table p:d.orders. Field body has changed type from JSON to STRING",
	],
	[400, "invalidQuery", "Syntax error"],
	[400, "invalidUser", "Invalid user"],
	[0, "jobBackendError", "Error encountered during execution"],
	[0, "jobInternalError", "The job encountered an internal error"],
	[0, "jobRateLimitExceeded", "Exceeded rate limits: too many jobs"],
	[404, "notFound", "Not found: Project p"],
	[501, "notImplemented", "This is not implemented"],
	[
		0,
		"quotaExceeded",
		"Quota exceeded: Your table exceeded quota for imports or query appends per table",
	],
	[
		0,
		"rateLimitExceeded",
		"Exceeded rate limits: too many table update operations for this table",
	],
	[0, "resourceInUse", "The table is being written to by another operation"],
	[
		0,
		"resourcesExceeded",
		"Resources exceeded during query execution: The load job used too much memory",
	],
	[403, "responseTooLarge", "Response too large to return"],
	[0, "stopped", "Job execution was cancelled: User requested cancellation"],
	[0, "tableUnavailable", "Table p:d.orders is temporarily unavailable"],
	[0, "timeout", "Operation timed out after 6.0 hours"],
].map(([status, reason, message]) => ({
	status: Number(status),
	reason: String(reason),
	message: String(message),
}));

/** What load makes of it. */
export function refusalOf(error: BigQueryError): GoogleRefusal {
	const { status, reason, message } = error;
	return status === 0
		? new GoogleRefusal(0, error)
		: GoogleRefusal.ofAnswer(
				status,
				JSON.stringify(new Fault(status, reason, message).toBody()),
			);
}

/** What a message says where a job has failed: only the job has the rest of BigQuery's words. */
export const namedJob = / BigQuery tells more of its job \S+\./;

/**
 * The message of the condition `RunSucceeded` that `kubectl describe pipeline` shows after Run `run` has met the error: by
 * the way that it takes, from load's result through the Pod's termination message and the Run's status.
 */
export function wordsOfPipeline(error: BigQueryError, run: string): string {
	const now = Date.parse("2026-03-10T12:00:00Z");
	const jobError = refusalOf(error).toFailure("load table orders").toJobError();
	const result: JobResult = { version: 1, outcome: "Failed", error: jobError };
	const pipeline = pipelineOf();
	const actions = decideRun(
		{
			run: runOf(run),
			references: undefined,
			shard: undefined,
			job: failedJob,
			pods: [podThatLeft(encodeResult(result))],
			contenders: [],
			ahead: 0,
			writers: [],
			image: "",
			progress: undefined,
		},
		now,
	);
	const written = actions.find(({ type }) => type === "writeStatus");
	if (written?.type !== "writeStatus") throw new Error("No status of the Run");
	const actionsOfPipeline = decidePipeline(
		{
			pipeline,
			source: sourceOf(),
			destination: bigQueryOf(),
			credentials: [],
			trackingPlan: undefined,
			owner: undefined,
			podPolicy: { labels: [], annotations: [], priorityClasses: [] },
			localWarehouse: undefined,
			clusterDomain: "cluster.local",
			clusterNetworks: [],
			runs: [runOf(run, written.status)],
			notifications: noWebhooks,
		},
		now,
	);
	const told = actionsOfPipeline.find(({ type }) => type === "writeStatus");
	if (told?.type !== "writeStatus")
		throw new Error("No status of the Pipeline");
	return findCondition(told.status.conditions, "RunSucceeded")!.message;
}

const failedJob: Job = {
	metadata: { name: "job" },
	status: {
		conditions: [
			{
				type: "Failed",
				status: "True",
				lastTransitionTime: "2026-03-10T11:59:00Z",
			},
		],
	},
};

function podThatLeft(message: string): Pod {
	return {
		metadata: { name: "pod", creationTimestamp: "2026-03-10T11:58:00Z" },
		status: terminated({ exitCode: 65, message }),
	};
}
