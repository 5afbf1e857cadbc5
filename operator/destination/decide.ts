import { isDeepStrictEqual } from "node:util";
import type {
	Destination,
	DestinationLastCheck,
	DestinationStatus,
} from "../../crds/generated/types.ts";
import {
	type ConditionStatus,
	findCondition,
	setCondition,
} from "../../kube/conditions.ts";
import type { Job, Pod, Secret } from "../../kube/kinds.ts";
import { rfc3339 } from "../../kube/timestamps.ts";
import { jobOutcome } from "../job/outcome.ts";
import type { CommonAction } from "../reconcile/actions.ts";
import type { EventReason } from "../reconcile/event-reasons.ts";
import { settlingMs } from "../reconcile/grace.ts";
import type { Reason } from "../reconcile/reasons.ts";
import { accessTo } from "./access.ts";
import { bigQueryProblem, type DestinationProblem } from "./bigquery.ts";
import {
	type Check,
	checkDeadlineSeconds,
	checkHash,
	checkOf,
} from "./check.ts";

/** All that a decision about one Destination rests on. */
export interface DestinationState {
	destination: Destination;
	/** The check Jobs that this Destination owns and that aren't being deleted. */
	jobs: Job[];
	/** The Pods of those Jobs. */
	pods: Pod[];
	/** The Secret that a BigQuery destination's credentials name, if there is one. */
	credentials: Secret | undefined;
	image: string;
	/** Local mode's directory for DuckDB files. */
	localWarehouse: string | undefined;
	/** Addresses that a BigQuery destination's apiEndpoint may be. */
	bigQueryEndpoints: string[];
}

export type DestinationAction =
	| { type: "startCheck"; check: Check }
	/** The Job with its Pods, and the Secret of the same name. */
	| { type: "deleteCheck"; name: string }
	| CommonAction<Destination, EventReason<"Destination">>;

export function decide(
	state: DestinationState,
	now: number,
): DestinationAction[] {
	const { destination, jobs } = state;
	if (destination.metadata.deletionTimestamp) return [];
	const wanted = wantedCheck(state);
	if ("reason" in wanted) {
		const waitMs =
			wanted.reason === "SecretNotFound" ? settlingMs(destination, now) : 0;
		const status = waitMs > 0 ? "Unknown" : "False";
		return [
			...jobs.map(deletionOf),
			...finding(destination, { status, ...wanted }, now),
			...(waitMs > 0 ? [{ type: "lookAgain", afterMs: waitMs } as const] : []),
		];
	}

	const { name } = wanted.job.metadata;
	const current = jobs.find((job) => job.metadata.name === name);
	return [
		...jobs.filter((job) => job !== current).map(deletionOf),
		...(current
			? followCheck(state, current, wanted.hash, now)
			: considerCheck(destination, wanted, now)),
	];
}

/** What to do when Kubernetes refused the check's Job or Secret, in its words. */
export function decideRefused(
	destination: Destination,
	{ hash }: Check,
	message: string,
	now: number,
): DestinationAction[] {
	const at = rfc3339(now);
	const lastCheck = afterFailure(destination, hash, at);
	return [
		...finding(
			destination,
			{ status: "False", reason: "CheckNotStarted", message, lastCheck },
			now,
		),
		{ type: "lookAgain", afterMs: backoffMs(lastCheck.failures) },
	];
}

/** How long after the nth failure in a row the check is repeated: 30 s, doubling to 30 min. */
export function backoffMs(failures: number): number {
	return Math.min(30_000 * 2 ** (failures - 1), 30 * 60_000);
}

interface Finding {
	status: ConditionStatus;
	reason: Reason<"Destination">;
	message: string;
	lastCheck?: DestinationLastCheck;
}

const verified: Finding = {
	status: "True",
	reason: "Verified",
	message: "A check from inside the namespace could write.",
};

const checking = (message = "The check is running."): Finding => ({
	status: "Unknown",
	reason: "Checking",
	message,
});

function wantedCheck({
	destination,
	credentials,
	image,
	localWarehouse,
	bigQueryEndpoints,
}: DestinationState): Check | DestinationProblem {
	const problem =
		destination.spec.bigQuery &&
		bigQueryProblem(destination, credentials, bigQueryEndpoints);
	if (problem) return problem;
	const access = accessTo(destination, localWarehouse);
	if (!access)
		return {
			reason: "VolumeClaimRequired",
			message:
				"A DuckDB file needs a volume. Set spec.duckDB.volumeClaimName to a PersistentVolumeClaim of this namespace.",
		};
	const hash = checkHash(destination.spec, credentials);
	return checkOf(destination, access, hash, image);
}

/** The check's Job is there: wait for it, or record what it found. */
function followCheck(
	{ destination, pods }: DestinationState,
	job: Job,
	hash: string,
	now: number,
): DestinationAction[] {
	const outcome = jobOutcome(
		job,
		pods.filter((pod) =>
			pod.metadata.ownerReferences?.some(({ uid }) => uid === job.metadata.uid),
		),
	);
	const last = lastCheckOf(destination, hash);
	if (!outcome.finished) {
		const waiting =
			outcome.waitingFor && `The check can't start yet: ${outcome.waitingFor}`;
		// While a failed check is repeated, what it said stays in view.
		const said = last ? [] : finding(destination, checking(waiting), now);
		return [...said, { type: "lookAgain", afterMs: 10_000 }];
	}

	const { at, result } = outcome;
	// Deleted only when the record of it has come back to us: else the next look could find neither and check again.
	if (last?.time === at) return [deletionOf(job)];
	if (result.outcome === "Succeeded") {
		const lastCheck = { hash, time: at, failures: 0 };
		return finding(destination, { ...verified, lastCheck }, now);
	}

	const { code, message } = result.error;
	const lastCheck = afterFailure(destination, hash, at);
	const said: Pick<Finding, "reason" | "message"> =
		code === "DeadlineExceeded"
			? { reason: "CheckNotFinished", message: unfinishedMessage(destination) }
			: { reason: "CheckFailed", message: `${code}: ${message}` };
	return finding(destination, { status: "False", ...said, lastCheck }, now);
}

/** No check is there: it was done, is not due yet, or starts now. */
function considerCheck(
	destination: Destination,
	check: Check,
	now: number,
): DestinationAction[] {
	const last = lastCheckOf(destination, check.hash);
	const start: DestinationAction = { type: "startCheck", check };
	if (!last) return [...finding(destination, checking(), now), start];
	if (!last.failures) return finding(destination, verified, now);
	const dueMs = Date.parse(last.time ?? "") + backoffMs(last.failures);
	// Somebody who edits a Destination that fails wants to know now.
	const edited =
		destination.status?.observedGeneration !== destination.metadata.generation;
	return edited || now >= dueMs
		? [start]
		: [{ type: "lookAgain", afterMs: dueMs - now }];
}

/** The latest check of what is to be verified as it is now. */
function lastCheckOf(
	{ status }: Destination,
	hash: string,
): DestinationLastCheck | undefined {
	return status?.lastCheck?.hash === hash ? status.lastCheck : undefined;
}

function afterFailure(destination: Destination, hash: string, time: string) {
	const failures = (lastCheckOf(destination, hash)?.failures ?? 0) + 1;
	return { hash, time, failures };
}

/** A Job that ran out of time has no Pods any more: what they waited for stands in the status. */
function unfinishedMessage({ status }: Destination): string {
	const ready = findCondition(status?.conditions, "Ready");
	if (ready?.reason === "CheckNotFinished") return ready.message;
	return `The check did not end in ${checkDeadlineSeconds} seconds. Last it said: ${ready?.message ?? "nothing"}`;
}

/** The status with this finding, and the event that tells of it; nothing if it says so already. */
function finding(
	destination: Destination,
	{ lastCheck = destination.status?.lastCheck, ...found }: Finding,
	now: number,
): DestinationAction[] {
	const before = destination.status;
	const observedGeneration = destination.metadata.generation ?? 0;
	const status: DestinationStatus = {
		observedGeneration,
		phase: phases[found.status],
		...(lastCheck && { lastCheck }),
		conditions: setCondition(
			before?.conditions,
			{ type: "Ready", observedGeneration, ...found },
			now,
		),
	};
	if (isDeepStrictEqual(status, before)) return [];
	const ready = findCondition(before?.conditions, "Ready");
	const news =
		ready?.status !== found.status ||
		ready.reason !== found.reason ||
		ready.message !== found.message;
	return [
		{ type: "writeStatus", status },
		...(news
			? [
					{
						type: "recordEvent",
						severity: found.status === "False" ? "Warning" : "Normal",
						reason: found.reason,
						message: found.message,
					} as const,
				]
			: []),
	];
}

const phases = { True: "Ready", False: "Error", Unknown: "Checking" } as const;

function deletionOf(job: Job): DestinationAction {
	return { type: "deleteCheck", name: job.metadata.name };
}
