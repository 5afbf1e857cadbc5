import type { ManifestRequest } from "../../contracts/manifest.ts";
import type {
	Pipeline,
	Run,
	RunError,
	RunStatus,
} from "../../crds/generated/types.ts";
import { rowsText } from "../../crds/run.ts";
import { rfc3339 } from "../../kube/timestamps.ts";
import {
	type Finding,
	failedFindings,
	statusWith,
} from "../job/work-status.ts";
import { type WorkAction, workSteps } from "../job/work-steps.ts";
import type { Target } from "../pipeline/target.ts";
import type { CommonAction } from "../reconcile/actions.ts";
import type { KubeEventReason, Reason } from "../reconcile/reasons.ts";
import { triggerOf } from "./trigger.ts";

/** What is done about a Run. */
export type RunAction =
	/** The Pipeline becomes the Run's owner, so that deleting it deletes its Runs. */
	| { type: "adopt" }
	/** `decideStart` goes on with the answer. */
	| {
			type: "askManifest";
			question: ManifestRequest;
			shard: number;
			target: Target;
	  }
	| WorkAction
	| CommonAction<Run, KubeEventReason<"Run">>;

/** How a Run's status changes. The status is written before people are told, and before the Job with its result goes. */
export const transition = {
	/** The Run waits or loads: `facts` has the phase. */
	progress(
		run: Run,
		reason: Reason<"Run", "Complete">,
		message: string,
		facts: RunStatus,
		now: number,
	): RunAction[] {
		return [
			writeStatus(
				run,
				facts,
				[{ type: "Complete", status: "False", reason, message }],
				now,
			),
		];
	},

	succeed(run: Run, facts: RunStatus, now: number): RunAction[] {
		const reason = "Succeeded" satisfies Reason<"Run", "Complete">;
		const message = loadedMessage({ ...run.status, ...facts });
		return [
			writeStatus(
				run,
				{ phase: "Succeeded", ...facts },
				[{ type: "Complete", status: "True", reason, message }],
				now,
			),
			tell("Normal", "RunSucceeded", message),
			{ type: "removeJob" },
		];
	},

	fail(
		run: Run,
		reason: Reason<"Run", "Failed">,
		error: RunError,
		facts: RunStatus,
		now: number,
	): RunAction[] {
		const { message } = error;
		return [
			writeStatus(
				run,
				{ phase: "Failed", completionTime: rfc3339(now), error, ...facts },
				ended("Failed", reason, message),
				now,
			),
			tell("Warning", "RunFailed", `${error.code}: ${message}`),
			{ type: "removeJob" },
		];
	},

	cancel(run: Run, facts: RunStatus, now: number): RunAction[] {
		const message = "The Run was cancelled by spec.cancel.";
		return [
			writeStatus(
				run,
				{ phase: "Cancelled", completionTime: rfc3339(now), ...facts },
				ended("Cancelled", "Cancelled", message),
				now,
			),
			tell("Normal", "RunCancelled", message),
			{ type: "removeJob" },
		];
	},
};

export function tell(
	severity: "Normal" | "Warning",
	reason: KubeEventReason<"Run">,
	message: string,
): RunAction {
	return { type: "recordKubeEvent", severity, reason, message };
}

export const steps = workSteps<Run, RunAction, "Loading">({
	noun: "Run",
	working: "Loading",
	transition,
	tell,
});

/** What a Run loads, and into which table if that is given. */
export function loadingMessage({ status }: Run, table?: string): string {
	const { dates } = status ?? {};
	const into = table === undefined ? "" : ` into table "${table}"`;
	return dates
		? `Loading ${dates.start} to ${dates.end}${into}.`
		: `Loading no days${into}: the Source has no events in the Run's dates.`;
}

/** When the time of a Run is over, all attempts together. */
export function deadlineMs({ spec }: Pipeline, startTime: string): number {
	const { activeDeadlineSeconds } = spec.runTemplate;
	return Date.parse(startTime) + activeDeadlineSeconds * 1000;
}

const ended: (
	complete: Reason<"Run", "Complete">,
	failed: Reason<"Run", "Failed">,
	message: string,
) => Finding[] = failedFindings;

function writeStatus(
	run: Run,
	facts: RunStatus,
	findings: Finding[],
	now: number,
): RunAction {
	const trigger = triggerOf(run);
	const status = statusWith(run, { trigger, ...facts }, findings, now);
	return { type: "writeStatus", status };
}

/** A Run that finds nothing succeeds, and people then look for their events. */
function loadedMessage({ rows = 0, addedRows, dates }: RunStatus): string {
	const loaded = `Loaded ${rowsText(rows)}`;
	const isPart = addedRows !== undefined && addedRows < rows;
	if (rows > 0)
		return `${loaded}${isPart ? `, ${addedRows} of them new` : ""}.`;
	return dates
		? `${loaded}: the Source has no events of ${dates.start} to ${dates.end}.`
		: `${loaded}: the Source has no events.`;
}
