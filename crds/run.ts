import { randomBytes } from "node:crypto";
import type {
	Operation,
	OperationSpec,
	Run,
	RunSpec,
} from "./generated/types.ts";

/** Whether a Run or an Operation has ended. The operator writes `completionTime` together with the final phase. */
export function hasEnded({ status }: Run | Operation): boolean {
	return status?.completionTime !== undefined;
}

/** Whether a Run has counted rows for an Operation, a `dryRun`, and loaded none. */
export function hasCounted({ status }: Run): boolean {
	return status?.countedRows !== undefined;
}

/**
 * Reasons of a Pipeline's `Ready` that pause its schedule alone. A Run that a person starts is carried out all the same; with
 * any other reason it waits.
 */
export const pausesScheduleOnly: ReadonlySet<string> = new Set([
	"DatesNotRetained",
	"InvalidSchedule",
	"InvalidTimeZone",
	"TableIncompatible",
	"TableNotOurs",
	"TooManyLoadJobs",
]);

/**
 * The name of a Run that a person or a program starts.
 * @param suffix Random letters, or a text that makes a repeated request the same Run.
 */
export function startedRunName(
	pipeline: string,
	suffix: string = randomBytes(5).toString("hex"),
): string {
	return `${pipeline}-${suffix}`;
}

/** The name of the Run of a scheduled minute. The name is the lock: every attempt to create that Run uses it. */
export function scheduledRunName(pipeline: string, slotMs: number): string {
	return `${pipeline}-${slotMs / 60_000}`;
}

/** The name of an Operation that a program creates. */
export function operationName(
	source: string,
	type: OperationSpec["type"],
	suffix: string = randomBytes(4).toString("hex"),
): string {
	const short = {
		DryRun: "dr",
		Draft: "d",
		Inspect: "i",
		Release: "r",
		Export: "e",
		Import: "im",
		Erase: "er",
	}[type];
	return `${source}-${short}${suffix}`;
}

/** A number of rows, for people. */
export function rowsText(rows = 0): string {
	return `${rows} ${rows === 1 ? "row" : "rows"}`;
}

/** A Run of a Pipeline, ready to create. */
export function newRun(
	pipeline: string,
	metadata: Run["metadata"],
	spec: Omit<RunSpec, "pipelineRef"> = {},
): Run {
	return {
		apiVersion: "tidemill.dev/v1alpha1",
		kind: "Run",
		metadata,
		spec: { ...spec, pipelineRef: { name: pipeline } },
	};
}
