import type { JobResult } from "../contracts/job.ts";
import { containerName } from "./job-template.ts";
import type { Job, Pod } from "./kube/kinds.ts";

export type JobOutcome =
	/** `waitingFor`: why no process runs yet, in Kubernetes' own words; absent once one runs. */
	| { finished: false; waitingFor?: string }
	/** `at`: when the Job ended, RFC 3339. A Job that ended without a result has a Failed one that says what is known. */
	| { finished: true; at: string; result: JobResult };

/**
 * How far a Tidemill Job is and what it brought.
 * @param pods all Pods of the Job.
 */
export function jobOutcome(job: Job, pods: Pod[]): JobOutcome {
	const latest = pods.toSorted((a, b) => startOf(a) - startOf(b)).at(-1);
	const ended = job.status?.conditions?.find(
		({ type, status }) =>
			(type === "Complete" || type === "Failed") && status === "True",
	);
	if (!ended) {
		const waitingFor = latest && waitingReason(latest);
		return { finished: false, ...(waitingFor && { waitingFor }) };
	}
	const at = new Date(ended.lastTransitionTime ?? 0).toISOString();
	return {
		finished: true,
		at,
		result:
			pods.map(resultOf).find((result) => result?.outcome === "Succeeded") ??
			(latest && resultOf(latest)) ??
			failed(ended.reason ?? ended.type, latest, ended.message),
	};
}

function resultOf(pod: Pod): JobResult | undefined {
	const message = terminated(pod)?.message;
	try {
		const result = JSON.parse(message ?? "") as JobResult;
		return result.version === 1 ? result : undefined;
	} catch {
		return undefined;
	}
}

/** The process left no result: it was killed, or never started. */
function failed(
	code: string,
	pod: Pod | undefined,
	message: string | undefined,
): JobResult {
	const end = pod && terminated(pod);
	const facts = [
		message,
		end &&
			`The process ended with ${end.reason ?? "an error"} (exit code ${end.exitCode}).`,
		end?.message,
		pod && waitingReason(pod),
		pod
			? undefined
			: "No Pod is left to ask: see the Job's Events for why none was made or what removed it.",
	];
	return {
		version: 1,
		outcome: "Failed",
		error: {
			code: end?.reason ?? code,
			message: facts.filter(Boolean).join(" ").slice(0, 2048),
			retryable: true,
		},
	};
}

function terminated(pod: Pod) {
	return pod.status?.containerStatuses?.find(
		({ name }) => name === containerName,
	)?.state?.terminated;
}

function waitingReason(pod: Pod): string | undefined {
	const waiting = pod.status?.containerStatuses?.[0]?.state?.waiting;
	if (waiting && waiting.reason !== "ContainerCreating")
		return [waiting.reason, waiting.message].filter(Boolean).join(": ");
	const unscheduled = pod.status?.conditions?.find(
		({ type, status }) => type === "PodScheduled" && status === "False",
	);
	return unscheduled?.message;
}

function startOf(pod: Pod): number {
	return new Date(pod.metadata.creationTimestamp ?? 0).getTime();
}
