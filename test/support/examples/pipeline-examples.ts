import type { PipelineStatus } from "../../../crds/generated/types.ts";
import { decide } from "../../../operator/pipeline/decide.ts";
import type { PipelineState } from "../../../operator/pipeline/state.ts";
import {
	destinationOf,
	installation,
	noWebhooks,
	pipelineOf,
	runOf,
	sourceOf,
} from "./resource-examples.ts";

/** Inputs and results of decisions about a Pipeline, for tables of decisions. */

export const nowMs = Date.parse("2026-03-10T12:34:56Z");
export const hourly = {
	type: "Interval",
	interval: "1h",
	timeZone: "UTC",
} as const;

export function stateOf(changes: Partial<PipelineState> = {}): PipelineState {
	return {
		pipeline: pipelineOf(),
		source: sourceOf(),
		destination: destinationOf(),
		credentials: [],
		trackingPlan: undefined,
		owner: undefined,
		...installation,
		runs: [],
		notifications: noWebhooks,
		...changes,
	};
}

export function statusAfter(state: PipelineState, at = nowMs): PipelineStatus {
	const written = decide(state, at).find(({ type }) => type === "writeStatus");
	if (written?.type === "writeStatus") return written.status;
	return state.pipeline.status ?? {};
}

/** A Pipeline with a schedule that has been in force since some time. */
export function scheduled(
	since: string,
	status: PipelineStatus = {},
	spec: Parameters<typeof pipelineOf>[0] = {},
) {
	const wanted = { schedule: hourly, ...spec };
	const fresh = statusAfter(stateOf({ pipeline: pipelineOf(wanted) }));
	const schedule = { ...fresh.schedule, since };
	return pipelineOf(wanted, { status: { ...status, schedule } });
}

/** Names of the Runs that it makes. */
export function created(state: PipelineState): string[] {
	return decide(state, nowMs).flatMap((action) =>
		action.type === "createRun" ? [action.name] : [],
	);
}

export function ended(
	name: string,
	phase: "Succeeded" | "Failed" | "Cancelled",
	completionTime: string,
	more: Parameters<typeof runOf>[1] = {},
	spec: NonNullable<Parameters<typeof runOf>[2]>["spec"] = {},
) {
	return runOf(name, { phase, completionTime, ...more }, { spec });
}
