import {
	type Pipeline,
	type PipelineLastSuccess,
	pipelineKind,
	type Run,
	type RunStatus,
} from "../../crds/generated/types.ts";
import { hasEnded } from "../../crds/run.ts";
import { inferredColumnsOf } from "../../crds/table-name.ts";
import type {
	ManifestAnswer,
	ManifestRequest,
} from "../../packages/contracts/manifest.ts";
import { isNamedByDigest } from "../../packages/contracts/name-digest.ts";
import { utcDate } from "../../packages/contracts/utc-date.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import { isOwnedBy } from "../../packages/kube/resource.ts";
import type { PendingLimit } from "../jobs/kind.ts";
import { lifecycle } from "../jobs/lifecycle.ts";
import { lostPodText } from "../jobs/lost-pods.ts";
import { isInForce } from "../jobs/refusal.ts";
import { nextLookMs } from "../jobs/slots.ts";
import {
	type CompleteReason,
	type ReasonsOf,
	type WorkAction,
	workTransitions,
} from "../jobs/transition.ts";
import { counterOf } from "../operation/erase.ts";
import { inferredColumns } from "../pipeline/inferred-columns.ts";
import { planDates } from "../pipeline/plan-dates.ts";
import { type LoadTarget, resolveTarget } from "../pipeline/target.ts";
import { comparedWarehouse } from "../pipeline/warehouse.ts";
import { retentionIn } from "../reconcile/ledgers.ts";
import { shardsIn, storedUnder } from "../source/routes/keys.ts";
import { runJob, triggerOf, warehouseLabel } from "./job.ts";
import { loadedMessage, loadingMessage } from "./messages.ts";
import { withTrace } from "./run-trace.ts";
import { startAnew } from "./start-anew.ts";
import { goesFirst, type RunState } from "./state.ts";

type RunReasons = ReasonsOf<"Run">;
type WorkOnRun = WorkAction<Run, RunReasons>;

/** What is done about a Run. */
export type RunAction =
	| WorkOnRun
	/** The Pipeline becomes the Run's owner, so that deleting it deletes its Runs. */
	| { type: "adopt" };

const transition = workTransitions<Run, RunReasons>("Run", (run) => ({
	trigger: triggerOf(run),
}));

/** For a Run without a Pipeline, as the CRD has it. */
const defaultPendingSeconds = 3_600;
/** How long a Run stays after its end that no Pipeline keeps: as long as an Operation, as its CRD has it. */
const keptWithoutPipelineMs = 604_800_000;

const work = lifecycle<Run, RunReasons, RunState>({
	noun: "Run",
	transition,
	workIn: ({ run }) => run,

	prepare,
	activeDeadlineSeconds: ({ references }) =>
		references?.pipeline.spec.runTemplate.activeDeadlineSeconds,

	resultSource({ run, shard }) {
		const sourceKey = run.status?.layout?.sourceKey;
		return sourceKey === undefined || shard === undefined
			? undefined
			: { sourceKey, shard };
	},
	leavesReport: false,
	succeed({ run }, result, facts, now) {
		const { rows, bytes, objects, addedRows, unchangedDates } = result;
		const { repairedDates, otherRows, quarantinedRows, unfitValues } = result;
		const { otherTypes, rescuedRows, erasedRows, countedRows } = result;
		const loaded = {
			rows,
			bytes,
			objects,
			...(addedRows !== undefined && { addedRows }),
			...(unchangedDates !== undefined && { unchangedDates }),
			...(repairedDates && { repairedDates }),
			...(otherRows !== undefined && { otherRows }),
			...(otherTypes && { otherTypes }),
			...(rescuedRows !== undefined && { rescuedRows }),
			...(erasedRows !== undefined && { erasedRows }),
			...(countedRows !== undefined && { countedRows }),
			...(quarantinedRows !== undefined && { quarantinedRows }),
			...(unfitValues && { unfitValues }),
		};
		const { warning } = result;
		const isCount = countedRows !== undefined;
		const message = [
			isCount ? undefined : loadedMessage({ ...run.status, ...loaded }),
			warning,
		]
			.filter(Boolean)
			.join(" ");
		return transition.succeed(run, message, { ...facts, ...loaded }, now);
	},
	startAnew,

	// A Pipeline keeps its Runs by its own rules. Of a Run that has none nobody else takes care.
	keptMs: ({ run, references }) =>
		references || run.metadata.ownerReferences?.length
			? undefined
			: keptWithoutPipelineMs,

	working: "Loading",
	workingMessage: loadingMessage,
	listing: "Archive is listing the objects to load",
	failed: "LoadFailed",
	failedBy: ({ code }) => (code === "DayWouldShrink" ? code : undefined),
	limited: ["PipelineNotFound", "PipelineNotReady"],
	pendingLimit: ({ references }) => pendingLimitOf(references),
});

/** The operator lacks its permissions in the Run's namespace. */
export const { decideNotPermitted } = work;

/** In the order in which they are applied. */
export function decide(state: RunState, now: number): RunAction[] {
	const { run, references } = state;
	// What Kubernetes has just refused may be the adoption.
	const isAdoptable =
		references &&
		!run.metadata.deletionTimestamp &&
		!hasEnded(run) &&
		!isInForce(state.refusal) &&
		!counterOf(run) &&
		!isOwnedBy(run, references.pipeline.metadata.uid) &&
		!belongsToPredecessor(state);
	return [
		...(isAdoptable ? [{ type: "adopt" } as const] : []),
		...work.decide(state, now),
	];
}

/** How long a Run may wait for what a person or the cluster must change. */
export function pendingLimitOf(
	references: RunState["references"],
): PendingLimit {
	const seconds =
		references?.pipeline.spec.pendingDeadlineSeconds ?? defaultPendingSeconds;
	return {
		seconds,
		text: `The Run was pending for more than ${seconds} seconds (spec.pendingDeadlineSeconds of its Pipeline).`,
	};
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

/** The Run has had no Job yet: wait for what is missing, or for archive's answer to what to load. */
function prepare(state: RunState, now: number): WorkOnRun[] {
	const { run, shard } = state;
	const { dates, full } = run.spec;
	const wait = (...[reason, message]: Waiting) =>
		transition.progress(run, reason, message, { phase: "Pending" }, now);
	const found = findTarget(state);
	if ("missing" in found) return wait(...found.missing);
	const { target, pipeline } = found;
	const { spec, status } = pipeline;
	const today = utcDate(now);
	const plan: ReturnType<typeof planDates> = state.counts
		? { extent: "Chosen", start: today, end: today }
		: planDates(
				spec,
				target.layout,
				status?.lastSuccess,
				{
					...(dates && { dates }),
					// An earlier Job of this Run found that the table lacks days.
					full: full || run.status?.extent === "Whole",
				},
				now,
				retentionIn(state.references?.source),
			);
	if ("problem" in plan) {
		const error = { ...plan.problem, retryable: false };
		return transition.fail(run, "DatesNotLoadable", error, {}, now);
	}
	const { eventTypes: tables } = target;
	const withTable = new Set(tables?.tables.map(({ type }) => type));
	const isUnnamed =
		(tables?.free ?? 0) > 0 &&
		run.status?.eventTypes?.some((type) => !withTable.has(type));
	const isTaken = tables?.tables.some(
		({ type, table }) =>
			run.status?.takenTables?.includes(table) && !isNamedByDigest(type, table),
	);
	if (run.status?.layout?.table === target.tableName && (isUnnamed || isTaken))
		return [
			...wait("Preparing", "New types of events get tables."),
			{ type: "requeueAfter", afterMs: 1_000 },
		];
	const named = inferredColumnsOf(pipeline);
	const columns = inferredColumns(pipeline, [run])?.columns ?? [];
	if (
		spec.table.schema === "Evolve" &&
		columns.some(
			({ name, type }) =>
				!named.some((column) => column.name === name && column.type === type),
		)
	)
		return [
			...wait("Preparing", "New members of bodies get columns."),
			{ type: "requeueAfter", afterMs: 1_000 },
		];
	const { retryTime } = run.status ?? {};
	const quotaMs = Date.parse(retryTime ?? "") - now;
	if (quotaMs > 0) {
		const before = findCondition(run.status?.conditions, "Complete");
		const message =
			before?.reason === "WaitingForQuota"
				? before.message
				: `A quota of the warehouse is used up. The Run tries again at ${retryTime}.`;
		return [
			...wait("WaitingForQuota", message),
			{ type: "requeueAfter", afterMs: quotaMs },
		];
	}
	const blocked = blockedBy(state, target.layout.destination);
	if (blocked)
		return [
			...wait(...blocked),
			// Who goes first is woken. This keeps what the others read up to date.
			{ type: "requeueAfter", afterMs: nextLookMs(state) },
		];
	if (shard === undefined)
		return work.notListed(
			run,
			{
				code: "SourceKeysUnreadable",
				message: `The Secret with the keys of Source "${spec.sourceRef.name}" is missing or damaged. See the Source's conditions.`,
				retryable: true,
			},
			now,
		);
	return work.askToStart(
		state,
		{
			shard,
			sourceKey: target.layout.sourceKey,
			...shardsOf(state),
			...plan,
			...followed(status?.lastSuccess),
			...(target.quarantine && { quarantine: true }),
		},
		now,
		(answer) => startLoading(state, target, answer, now),
	);
}

/** All shards of the Run's Source. */
function shardsOf({ references }: RunState) {
	const { source } = references ?? {};
	return shardsIn(source && storedUnder(source));
}

/** The Run that has filled the table. */
function followed(
	success: PipelineLastSuccess | undefined,
): Pick<ManifestRequest, "follows"> {
	const { runUID: run, snapshotTime: since } = success ?? {};
	return run === undefined || since === undefined
		? {}
		: { follows: { run, since } };
}

/** A Run starts only after archive has flushed: every event answered before is in the manifest. */
function startLoading(
	state: RunState,
	target: LoadTarget,
	answer: Extract<ManifestAnswer, { ok: true }>,
	now: number,
): WorkOnRun[] {
	const { run, references, image, traceEndpoint } = state;
	const { pipeline } = references!;
	const { snapshotTime, closedThrough, extent, dates, dateCount } = answer;
	const { url, authorities } = answer;
	const facts: RunStatus = {
		strategy: target.strategy,
		extent,
		...(dates && { dates }),
		...(dateCount !== undefined && { dateCount }),
		snapshotTime,
		closedThrough,
		layout: target.layout,
	};
	const message = loadingMessage({ ...run, status: facts }, target.tableName);
	const jobWithin = (activeDeadlineSeconds: number) => {
		const job = runJob(run, pipeline, target, {
			manifestURL: url,
			...(authorities !== undefined && { authorities }),
			extent,
			...(state.counts && { counts: state.counts }),
			image,
			activeDeadlineSeconds,
		});
		return traceEndpoint === undefined
			? job
			: withTrace(job, run, traceEndpoint);
	};
	return work.start(state, jobWithin, message, facts, now);
}

/** What the Run loads, or what it waits for. */
function findTarget(
	state: RunState,
): { target: LoadTarget; pipeline: Pipeline } | { missing: Waiting } {
	const { run, references } = state;
	const { name } = run.spec.pipelineRef;
	const missing = (...missing: Waiting) => ({ missing });
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
	const counter = counterOf(run);
	if (counter && !state.counts)
		return missing(
			"PipelineNotReady",
			`Operation "${counter.name}", for which the Run counts rows, has ended or asks for no count.`,
		);
	return { target: resolved.target, pipeline: references.pipeline };
}

type Waiting = [reason: CompleteReason<RunReasons>, message: string];

/**
 * Why a Run must wait for others; undefined when it is its turn. One process at a time may write to a warehouse. A Pod that
 * is lost with its node may still be one: two that write to one file could damage it.
 */
function blockedBy(
	{ run, contenders, ahead, writers }: RunState,
	warehouse: string,
): Waiting | undefined {
	const label = warehouseLabel(warehouse);
	const others = writers.filter(
		({ warehouseLabel }) => warehouseLabel === label,
	);
	const lost = others.find(({ lost }) => lost);
	if (lost?.lost)
		return [
			"PodLost",
			`The Run waits for ${warehouse}, to which a Pod of Run "${lost.run}" writes. ${lostPodText(lost.lost)}`,
		];
	const [writer] = others;
	if (writer)
		return [
			"WaitingForTurn",
			`The Pods of Run "${writer.run}" write to ${warehouse}.`,
		];
	const first = contenders.find(
		(contender) =>
			contender.warehouse === comparedWarehouse(warehouse) &&
			goesFirst(contender.run, run),
	);
	if (!first) return undefined;
	const count = ahead > 1 ? ` ${ahead} Runs come before this one.` : "";
	return [
		"WaitingForTurn",
		`Run "${first.run.metadata.name}" loads into ${warehouse} first.${count}`,
	];
}
