import { linesForTerminal } from "../../packages/escapes/terminal.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import type { Refusal } from "../../packages/kube/reconcile/refusals.ts";
import { publicWords } from "../../packages/kube/text.ts";
import { refusalFinding } from "../reconcile/refusals.ts";
import type {
	JobWork,
	WorkAction,
	WorkReasons,
	WorkTransitions,
} from "./transition.ts";

/** The reason of our own refusal: what has the name that a Job or its input needs belongs to somebody else. */
export const nameTaken = "NameTaken";

/** What Kubernetes refuses, and a retry alone doesn't change: a person must. */
const lastingStatuses: ReadonlySet<number> = new Set([
	// A field can't be parsed, such as a quantity.
	400,
	// A quota or an admission policy forbids it, or the namespace is being deleted.
	403,
	// Something that the request names does not exist, such as the namespace.
	404,
	// Validation failed.
	422,
]);

/** Why Kubernetes doesn't take a Job. `isLasting`: the Job itself is refused, and a retry alone doesn't change that. */
export function jobRefusal({ error }: Pick<Refusal, "error">): {
	isLasting: boolean;
	message: string;
} {
	if (error.reason === nameTaken)
		return { isLasting: true, message: error.message };
	return isOfJob({ error })
		? {
				isLasting: lastingStatuses.has(error.status),
				message: `Kubernetes refused the Job: ${publicWords(error.message)}`,
			}
		: { isLasting: false, message: refusalFinding(error).message };
}

/** Whether the refused request was to make a Job or its input. */
export function isOfJob({ error }: Pick<Refusal, "error">): boolean {
	const { method, path = "" } = error.request ?? {};
	return (
		error.reason === nameTaken ||
		(method !== "DELETE" && /\/(jobs|secrets)(\/|$)/.test(path))
	);
}

/** Whether what was refused isn't due again. */
export function isInForce(refusal: Refusal | undefined): refusal is Refusal {
	return refusal !== undefined && refusal.retryInMs > 0;
}

/** To record before the status is written, which may be what Kubernetes refuses. Nothing if people have read it. */
export function refusalEvent<W extends JobWork, R extends WorkReasons>(
	transition: Pick<WorkTransitions<W, R>, "record">,
	work: W,
	reason: "JobNotStarted" | "WriteRefused",
	message: string,
): WorkAction<W, R>[] {
	const before = findCondition(work.status?.conditions, "Complete");
	return before?.reason === reason &&
		before.message === linesForTerminal(message)
		? []
		: [transition.record("Warning", reason, message)];
}
