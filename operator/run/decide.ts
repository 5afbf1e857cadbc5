import { utcDate } from "../../contracts/utc-date.ts";
import {
	type Pipeline,
	pipelineKind,
	type Run,
} from "../../crds/generated/types.ts";
import { hasEnded } from "../../crds/run.ts";
import { findCondition } from "../../kube/conditions.ts";
import { isOwnedBy } from "../../kube/resource.ts";
import { retentionIn } from "../archive/retention.ts";
import { endedAs } from "../job/endings.ts";
import { resolveTarget, type Target } from "../pipeline/target.ts";
import { decideStart } from "./decide-start.ts";
import { follow } from "./follow.ts";
import { warehouseLabel } from "./job.ts";
import { limitPending } from "./pending.ts";
import { planDates } from "./plan-dates.ts";
import type { RunState } from "./state.ts";
import { deadlineMs, type RunAction, transition } from "./transition.ts";
import { goesFirst } from "./turn.ts";

/** In the order in which they are applied. */
export function decide(state: RunState, now: number): RunAction[] {
	const { run, job } = state;
	if (run.metadata.deletionTimestamp) return [];
	if (hasEnded(run)) return job ? [{ type: "removeJob" }] : [];
	return limitPending(state, decideOpen(state, now), now);
}

function decideOpen(state: RunState, now: number): RunAction[] {
	const { run, references, job } = state;
	const adoptable =
		references &&
		!isOwnedBy(run, references.pipeline.metadata.uid) &&
		!belongsToPredecessor(state);
	return [
		...(adoptable ? [{ type: "adopt" } as const] : []),
		...(job ? follow(state, job, now) : decideWithoutJob(state, now)),
	];
}

/** Whether the Run's owner is an earlier Pipeline of the same name, which is deleted. */
function belongsToPredecessor({ run, references }: RunState): boolean {
	return Boolean(
		run.metadata.ownerReferences?.some(
			({ apiVersion, kind, uid }) =>
				apiVersion.startsWith(`${pipelineKind.group}/`) &&
				kind === pipelineKind.kind &&
				uid !== references?.pipeline.metadata.uid,
		),
	);
}

function decideWithoutJob(state: RunState, now: number): RunAction[] {
	const { run } = state;
	if (run.spec.cancel) return transition.cancel(run, {}, now);
	// The status counts attempts as soon as a Job is seen.
	if (run.status?.attempts === undefined) return prepare(state, now);
	const error = endedAs("JobDeleted", `Job "${run.metadata.name}" is gone`);
	return transition.fail(run, "LoadFailed", error, {}, now);
}

/** The Run has had no Job yet: wait for what is missing, or for archive's answer to what to load. */
function prepare(state: RunState, now: number): RunAction[] {
	const { run, shard, progress } = state;
	const { dates, full } = run.spec;
	const wait = (...[reason, message]: Why) =>
		transition.progress(run, reason, message, { phase: "Pending" }, now);
	const found = findTarget(state);
	if ("missing" in found) return wait(...found.missing);
	const { target, pipeline } = found;
	const { spec, status } = pipeline;
	const plan = planDates(
		spec,
		target.layout,
		status?.lastSuccess,
		{
			...(dates && { dates }),
			// An earlier Job of this Run found that the table lacks days.
			full: full || run.status?.extent === "Whole",
		},
		utcDate(now),
		retentionIn(state.references?.source),
	);
	if ("problem" in plan) {
		const error = { ...plan.problem, retryable: false };
		return transition.fail(run, "DatesNotLoadable", error, {}, now);
	}
	const blocked = blockedBy(state, target.layout.destination);
	if (blocked !== undefined) return wait("WaitingForTurn", blocked);
	if (shard === undefined) {
		const error = {
			code: "SourceKeysUnreadable",
			message: `The Secret with the keys of Source "${spec.sourceRef.name}" is missing or damaged. See the Source's conditions.`,
			retryable: true,
		};
		return decideStart(state, target, { ok: false, error }, now);
	}

	const before = findCondition(run.status?.conditions, "Complete")?.reason;
	const isTold = before !== undefined && toldUntilNews.has(before);
	const doing = "Archive is listing the objects to load";
	return [
		...(progress !== undefined
			? wait("Preparing", `${doing}: ${progress}`)
			: isTold
				? []
				: wait("Preparing", `${doing}.`)),
		{
			type: "askManifest",
			target,
			shard,
			question: {
				run: run.metadata.uid!,
				account: run.metadata.namespace!,
				sourceKey: target.layout.sourceKey,
				...plan,
				linkSeconds: linkSecondsOf(run, pipeline, now),
				...(target.quarantine && { quarantine: true }),
				// An earlier Job of this Run found its links expired.
				...(run.status?.startTime && { renew: true }),
			},
		},
	];
}

/** How long the Run's links must work. A cancelled Run's links work for no longer. */
function linkSecondsOf(run: Run, pipeline: Pipeline, now: number): number {
	const startTime = run.status?.startTime ?? new Date(now).toISOString();
	const leftMs = Math.max(0, deadlineMs(pipeline, startTime) - now);
	return Math.ceil(leftMs / 1000) + linkSlackSeconds;
}

/** The Job starts a little later, and its attempts end a little late. */
const linkSlackSeconds = 600;

/** The last answer of archive or Kubernetes, and the Run's place, stay in the status until there is something newer. */
const toldUntilNews: ReadonlySet<string> = new Set<Why[0]>([
	"ManifestUnavailable",
	"Queued",
	"JobNotStarted",
]);

/** What the Run loads, or what it waits for. */
function findTarget(
	state: RunState,
): { target: Target; pipeline: Pipeline } | { missing: Why } {
	const { run, references } = state;
	const { name } = run.spec.pipelineRef;
	const missing = (...missing: Why) => ({ missing });
	if (!references)
		return missing(
			"PipelineNotFound",
			`There is no Pipeline "${name}" in this namespace. Create it, or delete this Run.`,
		);
	if (belongsToPredecessor(state))
		return missing(
			"PipelineNotFound",
			`This Run belongs to an earlier Pipeline "${name}", which is deleted. Delete the Run, or wait until Kubernetes does.`,
		);
	const resolved = resolveTarget(references);
	if ("problem" in resolved)
		return missing(
			"PipelineNotReady",
			`Pipeline "${name}" can't run (${resolved.problem.reason}): ${resolved.problem.message}`,
		);
	return { target: resolved.target, pipeline: references.pipeline };
}

type Why = [reason: Parameters<typeof transition.progress>[1], message: string];

/**
 * Why a Run must wait for others; undefined when it is its turn. One process at a time may write to a warehouse.
 */
function blockedBy(
	{ run, rivals, writers }: RunState,
	warehouse: string,
): string | undefined {
	const label = warehouseLabel(warehouse);
	const writer = writers.find(({ warehouseLabel }) => warehouseLabel === label);
	if (writer) return `The Pods of Run "${writer.run}" write to ${warehouse}.`;
	const first = rivals.find(
		(rival) => rival.warehouse === warehouse && goesFirst(rival.run, run),
	);
	return (
		first && `Run "${first.run.metadata.name}" loads into ${warehouse} first.`
	);
}
