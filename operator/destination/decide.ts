import { isDeepStrictEqual } from "node:util";
import type {
	Destination,
	DestinationLastCheck,
	DestinationReached,
	DestinationStatus,
} from "../../crds/generated/types.ts";
import { annotation } from "../../crds/labels.ts";
import {
	type ConditionStatus,
	findCondition,
	setCondition,
} from "../../packages/kube/conditions.ts";
import type { Job } from "../../packages/kube/kinds.ts";
import type { Refusal } from "../../packages/kube/reconcile/refusals.ts";
import {
	ageOf,
	isControlledBy,
	rfc3339,
} from "../../packages/kube/resource.ts";
import { warehouseOf } from "../../packages/warehouses/registry.ts";
import { jobOutcome } from "../jobs/outcome.ts";
import { isInForce, isOfJob, jobRefusal } from "../jobs/refusal.ts";
import { nextLookMs, placeText, type QueuePlace } from "../jobs/slots.ts";
import { podTemplateProblem } from "../jobs/template.ts";
import type { JobAction } from "../jobs/transition.ts";
import type { CommonAction, ReportAction } from "../reconcile/actions.ts";
import { remainingGraceMs } from "../reconcile/grace.ts";
import type { KubeEventReason, Reason } from "../reconcile/reasons.ts";
import {
	bindingProblem,
	keptReached,
	type Reach,
	reachOf,
	unboundWarning,
} from "./binding.ts";
import {
	checkDeadlineSeconds,
	checkHash,
	checkOf,
	type DestinationCheck,
} from "./check.ts";
import { consentProblem, type DestinationProblem } from "./consent.ts";
import type { DestinationState } from "./state.ts";
import { accessTo, warehouseProblem } from "./warehouse.ts";

export type DestinationAction =
	| Extract<JobAction, { type: "startJob" | "awaitSlot" }>
	/** The Job with its Pods, and the Secret of the same name. */
	| { type: "removeJob"; job: Job }
	| CommonAction<Destination, KubeEventReason<"Destination">>;

/** A Destination, and where a look at it says that its credentials go. */
type Seen = Pick<DestinationState, "destination"> & {
	reach: Reach | undefined;
};
type SeenState = DestinationState & Seen;

export function decide(
	given: DestinationState,
	now: number,
): DestinationAction[] {
	const { destination, jobs, refusal, credentials, clusterDomain } = given;
	if (destination.metadata.deletionTimestamp) return [];
	const reach = reachOf(destination, credentials, clusterDomain);
	const state = { ...given, reach };
	if (isInForce(refusal) && !isOfJob(refusal))
		return [
			...(refusal.mayPass
				? []
				: reportRefused(state, jobRefusal(refusal).message, now)),
			{ type: "requeueAfter", afterMs: refusal.retryInMs },
		];
	const wanted = wantedCheck(state);
	if ("reason" in wanted) {
		const waitMs = mayStillArrive.has(wanted.reason)
			? remainingGraceMs(destination, now)
			: 0;
		const status = waitMs > 0 ? "Unknown" : "False";
		return [
			...jobs.map(removalOf),
			...report(state, { status, ...wanted }, now),
			...(waitMs > 0
				? [{ type: "requeueAfter", afterMs: waitMs } as const]
				: []),
		];
	}

	const { name } = wanted.job.metadata;
	const current = jobs.find((job) => job.metadata.name === name);
	return [
		...jobs.filter((job) => job !== current).map(removalOf),
		...(current
			? followCheck(state, current, wanted.hash, now)
			: considerCheck(state, wanted, now)),
	];
}

/** One `kubectl apply` creates objects in any order. */
const mayStillArrive: ReadonlySet<Reason<"Destination">> = new Set([
	"SecretNotFound",
	"VolumeClaimNotFound",
	"ServiceAccountNotFound",
] as const);

/** The delay after the nth failure in a row: 30 s, doubling up to 30 min. */
export function backoffMs(failures: number): number {
	return Math.min(30_000 * 2 ** (failures - 1), 30 * 60_000);
}

function wantedCheck(state: SeenState): DestinationCheck | DestinationProblem {
	const { destination, credentials, reach, asked, image } = state;
	const { allowedEndpoints, podPolicy } = state;
	const problem =
		warehouseProblem(destination, credentials, allowedEndpoints) ??
		bindingProblem(destination, reach, asked);
	if (problem) return problem;
	const access = accessTo(destination, state, credentials);
	if (!access)
		return {
			reason: "VolumeClaimRequired",
			message: volumeRequired(destination),
		};
	const { checkTemplate = {} } = destination.spec;
	const refusal =
		consentProblem(destination, state) ??
		podTemplateProblem(checkTemplate, podPolicy, "spec.checkTemplate");
	if (refusal) return refusal;
	const hash = checkHash(destination.spec, credentials);
	return checkOf(destination, access, hash, image);
}

function volumeRequired({ spec }: Destination): string {
	const { noun, member } = warehouseOf(spec)!.definition;
	return `${noun[0]!.toUpperCase()}${noun.slice(1)} needs a volume. Set spec.${member}.volumeClaimName to a PersistentVolumeClaim in this namespace.`;
}

/** The check has a Job: wait for it, or record its result. */
function followCheck(
	state: SeenState,
	job: Job,
	hash: string,
	now: number,
): DestinationAction[] {
	const { destination, pods } = state;
	const outcome = jobOutcome(
		job,
		pods.filter((pod) => isControlledBy(pod, job.metadata.uid)),
	);
	const last = lastCheckOf(destination, hash);
	if (!outcome.finished) {
		const waiting =
			outcome.waitingFor && `The check can't start yet: ${outcome.waitingFor}`;
		// The status keeps the last failure while the check is repeated.
		const said = last ? [] : report(state, checking(waiting), now);
		return [...said, { type: "requeueAfter", afterMs: 10_000 }];
	}

	const { at, result } = outcome;
	// Removed only after memory has the recorded result. Otherwise the next look could find neither, and check again.
	if (last?.time === at) return [removalOf(job)];
	if (result.outcome === "Succeeded") {
		const lastCheck = {
			...requestOf(destination),
			hash,
			time: at,
			failures: 0,
			...(result.warning !== undefined && { warning: result.warning }),
		};
		return report(state, { ...verifiedBy(state, lastCheck), lastCheck }, now);
	}

	const { code, message } = result.error;
	const lastCheck = afterFailure(destination, hash, at);
	const said: Pick<DestinationFinding, "reason" | "message"> =
		code === "DeadlineExceeded"
			? { reason: "CheckNotFinished", message: unfinishedMessage(destination) }
			: { reason: "CheckFailed", message: `${code}: ${message}` };
	return report(state, { status: "False", ...said, lastCheck }, now);
}

/** There is no Job: the check is done, is not due yet, or starts now. */
function considerCheck(
	state: SeenState,
	check: DestinationCheck,
	now: number,
): DestinationAction[] {
	const { destination } = state;
	const last = lastCheckOf(destination, check.hash);
	const start = (age: string) => startCheck(state, check, age, now);
	// What is verified stays so while a check is repeated on request.
	if (!last || isAsked(destination, last)) return start(ageOf(destination));
	if (!last.failures) return report(state, verifiedBy(state, last), now);
	const dueMs = Date.parse(last.time ?? "") + backoffMs(last.failures);
	// A person who edits a failing Destination waits for the result.
	const edited =
		destination.status?.observedGeneration !== destination.metadata.generation;
	// A repetition has waited since it was due, so that checks which fail keep no Run from its turn.
	return edited || now >= dueMs
		? start(edited ? ageOf(destination) : rfc3339(dueMs))
		: [{ type: "requeueAfter", afterMs: dueMs - now }];
}

/** Starts the check, unless there are too many Jobs or Kubernetes has just refused it. */
function startCheck(
	state: SeenState,
	{ hash, ...job }: DestinationCheck,
	age: string,
	now: number,
): DestinationAction[] {
	const { destination, place, refusal } = state;
	const isFirst = lastCheckOf(destination, hash) === undefined;
	const say = (found: DestinationFinding) =>
		isFirst ? report(state, found, now) : [];
	if (place)
		return [
			...say(queued(place)),
			{ type: "awaitSlot", afterMs: nextLookMs(place) },
		];
	if (isInForce(refusal)) return refused(state, hash, refusal, now);
	return [...say(checking()), { type: "startJob", job, dryRun: false, age }];
}

/** Kubernetes refuses the check's Job or Secret: as a failed check, if a person must correct that. */
function refused(
	seen: Seen,
	hash: string,
	refusal: Refusal,
	now: number,
): DestinationAction[] {
	const requeueAfter = {
		type: "requeueAfter",
		afterMs: refusal.retryInMs,
	} as const;
	if (refusal.mayPass) return [requeueAfter];
	const { destination } = seen;
	const { isLasting, message } = jobRefusal(refusal);
	if (!isLasting) return [...reportRefused(seen, message, now), requeueAfter];
	// Status times are whole seconds.
	const lastMs = Date.parse(lastCheckOf(destination, hash)?.time ?? "");
	if (lastMs + 1_000 > refusal.at) return [requeueAfter];
	const lastCheck = afterFailure(destination, hash, rfc3339(now));
	return [
		...report(
			seen,
			{ status: "False", reason: "CheckNotStarted", message, lastCheck },
			now,
		),
		{ type: "requeueAfter", afterMs: backoffMs(lastCheck.failures) },
	];
}

/** The KubeEvent comes first, since the status may be what Kubernetes refuses. */
function reportRefused(
	seen: Seen,
	message: string,
	now: number,
): DestinationAction[] {
	const found = { status: "False", reason: "WriteRefused", message } as const;
	return report(seen, found, now).toReversed();
}

/** The latest check, if what it verified hasn't changed. */
function lastCheckOf(
	{ status }: Destination,
	hash: string,
): DestinationLastCheck | undefined {
	return status?.lastCheck?.hash === hash ? status.lastCheck : undefined;
}

function afterFailure(destination: Destination, hash: string, time: string) {
	const failures = (lastCheckOf(destination, hash)?.failures ?? 0) + 1;
	return { ...requestOf(destination), hash, time, failures };
}

/** Whether a person has asked for a check since the last one. */
function isAsked(
	{ metadata }: Destination,
	{ request }: DestinationLastCheck,
): boolean {
	const asked = metadata.annotations?.[annotation.check];
	return asked !== undefined && asked !== request;
}

function requestOf({
	metadata,
}: Destination): Pick<DestinationLastCheck, "request"> {
	const request = metadata.annotations?.[annotation.check];
	return request === undefined ? {} : { request };
}

/** The Pods of a Job that ran out of time are gone. The status has what they waited for. */
function unfinishedMessage({ status }: Destination): string {
	const ready = findCondition(status?.conditions, "Ready");
	if (ready?.reason === "CheckNotFinished") return ready.message;
	return `The check did not end within ${checkDeadlineSeconds} seconds. Its last message: ${ready?.message ?? "none"}`;
}

function removalOf(job: Job): DestinationAction {
	return { type: "removeJob", job };
}

/** What a look at a Destination has found. */
export interface DestinationFinding {
	status: ConditionStatus;
	reason: Reason<"Destination">;
	message: string;
	lastCheck?: DestinationLastCheck;
	reached?: DestinationReached | undefined;
}

function verifiedBy(
	{ destination, reach }: Seen,
	{ warning }: DestinationLastCheck,
): DestinationFinding {
	const unbound = reach?.isUnbound && unboundWarning(destination, reach);
	return {
		status: "True",
		reason: unbound ? "VerifiedUnbound" : "Verified",
		message: [
			"A check from inside the namespace could write.",
			warning,
			unbound,
		]
			.filter(Boolean)
			.join(" "),
		reached: reach?.reached,
	};
}

export const checking = (
	message = "The check is running.",
): DestinationFinding => ({
	status: "Unknown",
	reason: "Checking",
	message,
});

export const queued = (place: QueuePlace): DestinationFinding => ({
	status: "Unknown",
	reason: "Queued",
	message: `The check waits for its turn: ${placeText(place)}`,
});

/** The status with this finding and the KubeEvent about it; nothing if the status has it already. */
export function report(
	{ destination, reach }: Seen,
	{
		lastCheck = destination.status?.lastCheck,
		reached = keptReached(destination, reach),
		...found
	}: DestinationFinding,
	now: number,
): ReportAction<Destination, KubeEventReason<"Destination">>[] {
	const before = destination.status;
	const observedGeneration = destination.metadata.generation ?? 0;
	const status: DestinationStatus = {
		observedGeneration,
		phase: phases[found.status],
		...(lastCheck && { lastCheck }),
		...(reached && { reached }),
		conditions: setCondition(
			before?.conditions,
			{ type: "Ready", observedGeneration, ...found },
			now,
		),
	};
	if (isDeepStrictEqual(status, before)) return [];
	const ready = findCondition(before?.conditions, "Ready");
	const isNew =
		ready?.status !== found.status ||
		ready.reason !== found.reason ||
		ready.message !== found.message;
	return [
		{ type: "writeStatus", status },
		...(isNew
			? [
					{
						type: "recordKubeEvent",
						severity:
							found.status === "False" || found.reason === "VerifiedUnbound"
								? "Warning"
								: "Normal",
						reason: found.reason,
						message: found.message,
					} as const,
				]
			: []),
	];
}

const phases = { True: "Ready", False: "Error", Unknown: "Checking" } as const;
