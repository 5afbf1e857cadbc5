import type { RunFailedAttempt } from "../../crds/generated/types.ts";
import {
	type JobError,
	type JobResult,
	maxLogEndBytes,
} from "../../packages/contracts/job.ts";
import {
	endOf,
	isGone,
	type Job,
	type JobCondition,
	type Pod,
} from "../../packages/kube/kinds.ts";
import { rfc3339 } from "../../packages/kube/resource.ts";
import { publicWords } from "../../packages/kube/text.ts";
import { containerName } from "./template.ts";

export type JobOutcome =
	/** `waitingFor`: why no process runs yet, in Kubernetes' words. */
	| { finished: false; waitingFor?: string }
	/**
	 * `at`: when the Job ended, RFC 3339. A Job without a result gets a Failed one that says what is known. `isPodGone`: the
	 * Pod that would know the result is gone, and nothing else was stored.
	 */
	| { finished: true; at: string; result: JobResult; isPodGone?: true };

/**
 * How far a Job is, and its result.
 * @param pods All Pods of the Job that are left.
 * @param stored What the Job left elsewhere, as JSON.
 */
export function jobOutcome(job: Job, pods: Pod[], stored?: string): JobOutcome {
	const latest = pods.toSorted((a, b) => startOf(a) - startOf(b)).at(-1);
	// The Pod's success first: it is the same end before and after Kubernetes says that the Job is complete.
	const ended =
		endWithSuccess(pods) ?? endOf(job) ?? (latest && endBesideSidecar(latest));
	if (!ended) {
		const waitingFor = latest && waitingReason(latest);
		return { finished: false, ...(waitingFor && { waitingFor }) };
	}
	const at =
		ended.lastTransitionTime ??
		(latest ?? job).metadata.creationTimestamp ??
		rfc3339(0);
	const left = readResult(stored);
	const success = [...pods.map(resultOf), left].find(
		(result) => result?.outcome === "Succeeded",
	);
	const last = (latest && resultOf(latest)) ?? left;
	const log = last ? last.log : latest && outputOf(latest);
	const isPodGone =
		ended.type === "Complete"
			? pods.every((pod) => terminated(pod)?.exitCode !== 0)
			: !latest || !terminated(latest);
	// The failure of an earlier attempt says nothing about a Job that is complete.
	const said =
		ended.type === "Failed" && last?.outcome === "Failed"
			? last.error
			: undefined;
	return {
		finished: true,
		at,
		result: success ?? {
			version: 1,
			outcome: "Failed",
			error: errorOf(ended, latest, said),
			...(log !== undefined && { log }),
		},
		...(isPodGone && !left && { isPodGone }),
	};
}

/** As the CRDs have it. */
const maxAttempts = 5;

/**
 * The attempts of a Job that failed and were followed by another, the last ones.
 * @param known From the status: the Pods of a Job that runs out of time are gone.
 * @param isOver The latest Pod had the last attempt, which the status has by itself.
 */
export function failedAttempts(
	known: RunFailedAttempt[] = [],
	pods: Pod[],
	isOver: boolean,
): { failedAttempts?: RunFailedAttempt[] } {
	const byAge = pods.toSorted((a, b) => (podAge(a) < podAge(b) ? -1 : 1));
	const last = isOver ? byAge.at(-1)?.metadata.name : undefined;
	const ended = byAge.flatMap((pod) => attemptOf(pod) ?? []);
	const names = new Set(ended.map(({ pod }) => pod));
	const all = [...known.filter(({ pod }) => !names.has(pod)), ...ended]
		.filter(({ pod }) => pod !== last)
		.slice(-maxAttempts);
	// An empty list takes away what the status has.
	return all.length > 0 || known.length > 0 ? { failedAttempts: all } : {};
}

function attemptOf(pod: Pod): RunFailedAttempt | undefined {
	const end = attemptEnd(pod);
	if (!end) return undefined;
	const { at, error, log } = end;
	const { code, message } = error;
	return {
		pod: pod.metadata.name,
		...(at && { completionTime: at }),
		code,
		message,
		...(log && { log }),
	};
}

function podAge({ metadata }: Pod): string {
	return `${metadata.creationTimestamp} ${metadata.name}`;
}

/** How a Pod failed; undefined unless it has. */
function attemptEnd(
	pod: Pod,
): { at?: string; error: JobError; log?: string } | undefined {
	const process = terminated(pod);
	const hasFailed = process
		? process.exitCode !== 0
		: pod.status?.phase === "Failed";
	if (!hasFailed) return undefined;
	const result = resultOf(pod);
	const log = result ? result.log : outputOf(pod);
	return {
		...(process?.finishedAt && { at: process.finishedAt }),
		error:
			result?.outcome === "Failed"
				? result.error
				: silentEnd({ type: "Failed", status: "True" }, pod),
		...(log !== undefined && { log }),
	};
}

/**
 * The work is done, its result is there and its Pod has ended. Kubernetes gathers what happens to a Job's Pods for a second before it says that the Job is
 * complete (`syncJobBatchPeriod` of its Job controller), and a person waits for the row.
 */
function endWithSuccess(pods: Pod[]): JobCondition | undefined {
	const ours = pods
		.filter(({ status }) => status?.phase === "Succeeded")
		.filter((pod) => resultOf(pod)?.outcome === "Succeeded")
		.map(terminated)
		.find((process) => process?.exitCode === 0);
	return (
		ours && {
			type: "Complete",
			status: "True",
			...(ours.finishedAt && { lastTransitionTime: ours.finishedAt }),
		}
	);
}

/**
 * Our container has ended, and another one of the Pod goes on: a sidecar that some software has injected. Such a Pod never
 * ends, and so its Job neither. (Kubernetes itself ends restartable init containers, KEP-753.)
 */
function endBesideSidecar(pod: Pod): JobCondition | undefined {
	const ours = terminated(pod);
	const goesOn = pod.status?.containerStatuses?.some(
		({ name, state }) => name !== containerName && !state?.terminated,
	);
	if (!ours || !goesOn || isGone(pod)) return undefined;
	return {
		type: ours.exitCode === 0 ? "Complete" : "Failed",
		status: "True",
		...(ours.finishedAt && { lastTransitionTime: ours.finishedAt }),
	};
}

function errorOf(
	ended: JobCondition,
	latest: Pod | undefined,
	said: JobError | undefined,
): JobError {
	// Kubernetes told the process to stop, and its result may only say so.
	if (ended.reason === "DeadlineExceeded") {
		const last = said && `Its last attempt said ${said.code}: ${said.message}`;
		return endedAs("DeadlineExceeded", last, latest && waitingReason(latest));
	}
	return said ?? silentEnd(ended, latest);
}

/** The process left no result: it was killed or never started. */
function silentEnd(ended: JobCondition, pod: Pod | undefined): JobError {
	if (!pod)
		return unexplained(
			ended.reason ?? ended.type,
			ended.message,
			"No Pod is left. See the Job's Events for why none was created or what removed it.",
		);
	const { reason, message } = pod.status ?? {};
	if (reason === "Evicted") return endedAs("Evicted", message);
	const process = terminated(pod);
	if (!process)
		return unexplained(
			reason ?? ended.reason ?? ended.type,
			ended.message,
			message,
			waitingReason(pod),
		);
	const end = `The process ended with exit code ${process.exitCode}`;
	// V8 ends a process by itself whose own heap is full (SIGABRT).
	const isHeapFull =
		process.exitCode === 134 &&
		/heap out of memory/i.test(process.message ?? "");
	if (process.reason === "OOMKilled" || isHeapFull)
		return endedAs("OOMKilled", end);
	// For any other reason, such as StartError, the message explains why there was no process.
	if (process.reason && !["Completed", "Error"].includes(process.reason))
		return unexplained(process.reason, end, process.message);
	const left = process.message?.trim().slice(-500);
	return endedAs("ResultMissing", end, left && `It wrote: ${left}`);
}

/**
 * The end of what a process wrote that was killed before it left a result: Kubernetes takes it from the log
 * (terminationMessagePolicy FallbackToLogsOnError).
 */
function outputOf(pod: Pod): string | undefined {
	const { reason, message } = terminated(pod) ?? {};
	const isOutput = reason === "OOMKilled" || reason === "Error";
	return isOutput && message ? message.slice(-maxLogEndBytes) : undefined;
}

/** Undefined if there is no result or it is unreadable. */
function resultOf(pod: Pod): JobResult | undefined {
	return readResult(terminated(pod)?.message);
}

function readResult(text: string | undefined): JobResult | undefined {
	try {
		const result = JSON.parse(text ?? "") as JobResult | null;
		if (result?.version !== 1) return undefined;
		const whole =
			result.outcome === "Succeeded"
				? Number.isSafeInteger(result.rows)
				: typeof result.error?.code === "string";
		if (!whole) return undefined;
		const { log, ...rest } = result;
		const isEnd = typeof log === "string" && log.length <= maxLogEndBytes;
		return isEnd ? result : rest;
	} catch {
		return undefined;
	}
}

function terminated(pod: Pod) {
	return pod.status?.containerStatuses?.find(
		({ name }) => name === containerName,
	)?.state?.terminated;
}

function waitingReason(pod: Pod): string | undefined {
	const { containerStatuses = [], initContainerStatuses = [] } =
		pod.status ?? {};
	// Containers that others inject can keep ours from starting, or wait long after it runs.
	const ours = containerStatuses.find(({ name }) => name === containerName);
	const waiting =
		ours?.state?.waiting &&
		[ours, ...initContainerStatuses]
			.map(({ state }) => state?.waiting)
			.find((state) => state && !onItsWay.has(state.reason ?? ""));
	if (waiting)
		return publicWords(
			[waiting.reason, waiting.message].filter(Boolean).join(": "),
		);
	const unscheduled = pod.status?.conditions?.find(
		({ type, status }) => type === "PodScheduled" && status === "False",
	);
	return unscheduled?.message && publicWords(unscheduled.message);
}

/** What a kubelet says while nothing is wrong. */
const onItsWay: ReadonlySet<string> = new Set([
	"ContainerCreating",
	"PodInitializing",
]);

function startOf(pod: Pod): number {
	return new Date(pod.metadata.creationTimestamp ?? 0).getTime();
}

/**
 * How a Job can end without a result of its process. docs/reference/conditions.md is generated from this table.
 * A code is Kubernetes' own word where there is one.
 */
export const jobEndings = {
	DeadlineExceeded:
		"The Job ran out of time. Remove what it waited for, or raise the Pipeline's spec.runTemplate.activeDeadlineSeconds.",
	OOMKilled:
		"The process exceeded its memory limit. Raise the memory in the Pipeline's spec.runTemplate.resources.",
	Evicted:
		"The node ran short of resources. Request what the Pod needs in the Pipeline's spec.runTemplate.resources.",
	PodLost:
		"The node of the Job's Pod is down or cut off, and the Pod may still write. Do what the message says, then start a new Run.",
	JobDeleted: "Somebody deleted the Job. Start a new Run.",
	ResultMissing:
		"The process left no readable result, so it is unknown what it loaded. Start a new Run. If that ends the same way, make sure that operator and Jobs have the same version.",
} as const;

/** @param facts What is known, as sentences or in Kubernetes' words. Undefined and empty ones are dropped. */
export function endedAs(
	code: keyof typeof jobEndings,
	...facts: (string | undefined)[]
): JobError {
	return unexplained(code, jobEndings[code], ...facts);
}

/** An ending that the table lacks, under Kubernetes' word for it. */
function unexplained(code: string, ...facts: (string | undefined)[]): JobError {
	const message = facts
		.filter((fact) => fact !== undefined && fact !== "")
		.map((fact) => publicWords(fact!, 2048).replace(/[.\s]*$/, "."))
		.join(" ");
	return { code, message: message.slice(0, 2048), retryable: true };
}
