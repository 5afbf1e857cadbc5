import type { Run, RunColumn } from "../../crds/generated/types.ts";
import { label } from "../../crds/labels.ts";
import {
	type JobError,
	maxBodyColumns,
	maxEventTypes,
} from "../../packages/contracts/job.ts";
import { rfc3339 } from "../../packages/kube/resource.ts";
import type { NewStart } from "../jobs/kind.ts";
import type { ReasonsOf } from "../jobs/transition.ts";
import { foundColumns } from "../pipeline/inferred-columns.ts";
import type { RunState } from "./state.ts";

/** A Job that failed has found what another can take into account: what the Run waits for, and what its status says by then. */
export function startAnew(
	{ run, job, references }: RunState,
	error: JobError,
	now: number,
): NewStart<Run, ReasonsOf<"Run">> | undefined {
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
