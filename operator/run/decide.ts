import {
	type Pipeline,
	type PipelineLastSuccess,
	pipelineKind,
	type Run,
	type RunColumn,
	type RunStatus,
} from "../../crds/generated/types.ts";
import { label } from "../../crds/labels.ts";
import { hasEnded, rowsText } from "../../crds/run.ts";
import {
	inferredColumnsOf,
	otherTypesTableOf,
	rescuedColumn,
} from "../../crds/table-name.ts";
import { unfitColumns, unfitText } from "../../crds/unfit-values.ts";
import { maxBodyColumns, maxEventTypes } from "../../packages/contracts/job.ts";
import type {
	ManifestAnswer,
	ManifestRequest,
} from "../../packages/contracts/manifest.ts";
import { isNamedByDigest } from "../../packages/contracts/name-digest.ts";
import { addDays, utcDate } from "../../packages/contracts/utc-date.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import { isOwnedBy, rfc3339 } from "../../packages/kube/resource.ts";
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
import { foundColumns, inferredColumns } from "../pipeline/inferred-columns.ts";
import { planDates } from "../pipeline/plan-dates.ts";
import { type LoadTarget, resolveTarget } from "../pipeline/target.ts";
import { retentionIn } from "../reconcile/ledgers.ts";
import { runJob, triggerOf, warehouseLabel } from "./job.ts";
import { withTrace } from "./run-trace.ts";
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
	startAnew({ run, job, references }, error, now) {
		if (error.waits) return waitForQuota(run, references, error.message, now);
		if (error.eventTypes) return foundTypes(run, error.eventTypes);
		if (error.takenTables) return otherNames(run, error.takenTables);
		if (error.columns) return withColumns(run, foundColumns(error));
		// The status may be ahead of the Job, which goes after the status is written.
		const isPart = job?.metadata.labels?.[label.extent] !== "Whole";
		if (error.code !== "TableIncomplete" || !isPart) return undefined;
		// Archive is asked for all days, once: any table takes those.
		const message = `Table "${run.status?.layout?.table}" lacks days before the Run's: it is new, restored or rebuilt. The Run loads the whole window.`;
		return { message, facts: { extent: "Whole" }, event: "WholeWindow" };
	},

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

/**
 * The tables get names first, which last whatever becomes of the Run. They are new, and so need all days. The status may be ahead of the
 * Job, which goes after the status is written.
 */
function foundTypes({ status }: Run, types: readonly string[]) {
	const count = types.length > 1 ? `${types.length} types` : "It";
	const all = [...new Set([...(status?.eventTypes ?? []), ...types])];
	return {
		message: `There are events of types without a table, such as "${types[0]}". ${count} get${types.length > 1 ? "" : "s"} one, and the Run loads the whole window.`,
		facts: { extent: "Whole", eventTypes: all.slice(-maxEventTypes) },
		event: "EventTypesFound" as const,
	};
}

/** So do the types whose tables are somebody else's. */
function otherNames({ status }: Run, taken: readonly string[]) {
	const all = [...new Set([...(status?.takenTables ?? []), ...taken])];
	return {
		message: `Table "${taken[0]}" isn't this Pipeline's and stays as it is. ${taken.length > 1 ? `${taken.length} types of events get tables of other names` : "Its type of events gets a table of another name"}, and the Run loads the whole window.`,
		facts: { extent: "Whole", takenTables: all.slice(-maxEventTypes) },
		event: "EventTypesFound" as const,
	};
}

/** The members get columns first, which last whatever becomes of the Run. The rows that the table has lack nothing of them. */
function withColumns({ status }: Run, found: readonly RunColumn[]) {
	const [first] = found;
	if (!first) return undefined;
	// A table has its own type for one that was found before.
	const known = (status?.columns ?? []).filter(
		({ bodyPointer }) =>
			!found.some((column) => column.bodyPointer === bodyPointer),
	);
	const count = found.length > 1 ? `${found.length} get one` : "It gets one";
	return {
		message: `There are members of bodies without a column of their type, such as ${first.bodyPointer}. ${count}, and the Run goes on.`,
		facts: { columns: [...known, ...found].slice(-maxBodyColumns) },
		event: "ColumnsFound" as const,
	};
}

/** Failed load jobs count against a quota, too, and it comes back bit by bit or at midnight. */
const quotaRetryMs = 15 * 60_000;

/** The Run keeps its turn, so that what comes later doesn't use up what the quota gives. It fails if its time is over by then. */
function waitForQuota(
	{ status }: Run,
	references: RunState["references"],
	said: string,
	now: number,
) {
	const { activeDeadlineSeconds = 0 } =
		references?.pipeline.spec.runTemplate ?? {};
	const retryMs = now + quotaRetryMs;
	const endMs =
		Date.parse(status?.startTime ?? "") + activeDeadlineSeconds * 1_000;
	if (!(retryMs < endMs)) return undefined;
	const retryTime = rfc3339(retryMs);
	return {
		reason: "WaitingForQuota",
		message: `The Run tries again at ${retryTime}, and every 15 minutes until ${rfc3339(endMs)}. ${said}`,
		facts: { retryTime },
		event: "WaitingForQuota",
	} as const;
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
			...plan,
			...followed(status?.lastSuccess),
			...(target.quarantine && { quarantine: true }),
		},
		now,
		(answer) => startLoading(state, target, answer, now),
	);
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
			contender.warehouse === warehouse && goesFirst(contender.run, run),
	);
	if (!first) return undefined;
	const count = ahead > 1 ? ` ${ahead} Runs come before this one.` : "";
	return [
		"WaitingForTurn",
		`Run "${first.run.metadata.name}" loads into ${warehouse} first.${count}`,
	];
}

/** What a Run loads, and into which table if that is given. */
function loadingMessage({ status }: Run, table?: string): string {
	const { dates, dateCount } = status ?? {};
	const into = table === undefined ? "" : ` into table "${table}"`;
	if (!dates)
		return `Loading no days${into}: the Source has no events in the Run's dates.`;
	const { start, end } = dates;
	const hasGaps =
		dateCount !== undefined && addDays(start, dateCount - 1) < end;
	const count = hasGaps ? `${dateCount} dates of ` : "";
	return `Loading ${count}${start} to ${end}${into}.`;
}

/** A Run that finds nothing succeeds, and people then look for their events. */
function loadedMessage(status: RunStatus): string {
	const { rows = 0, addedRows, dates, repairedDates = [], otherRows } = status;
	const isPart = addedRows !== undefined && addedRows < rows;
	const why =
		rows > 0
			? isPart
				? `, ${addedRows} of them new`
				: ""
			: dates
				? `: the Source has no events of ${dates.start} to ${dates.end}`
				: ": the Source has no events";
	const repaired =
		repairedDates.length === 0
			? ""
			: ` Somebody had changed rows of ${listed(repairedDates)} in the table: loaded again.`;
	const kept =
		otherRows === undefined
			? ""
			: ` The table keeps ${rowsText(otherRows)} of other dates${dates ? `, outside ${dates.start} to ${dates.end}` : ""}.`;
	const unfit = unfitText(unfitColumns(status));
	const others = status.otherTypes
		? ` Put ${rowsText(status.otherTypes.rows)} of ${status.otherTypes.types} more types of events into table "${otherTypesTableOf(status.layout!.table)}": spec.table.maxEventTypes types of the Pipeline have a table.`
		: "";
	const { rescuedRows } = status;
	const rescued = rescuedRows
		? ` What no other column holds of ${rowsText(rescuedRows)} is in "${rescuedColumn}".`
		: "";
	return `Loaded ${rowsText(rows)}${why}.${repaired}${kept}${others}${rescued}${unfit && ` ${unfit}`}`;
}

const mostListed = 5;

function listed(dates: readonly string[]): string {
	const more = dates.length - mostListed;
	return `${dates.slice(0, mostListed).join(", ")}${more > 0 ? ` and ${more} more dates` : ""}`;
}
