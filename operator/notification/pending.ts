import type { Pipeline, Source } from "../../crds/generated/types.ts";
import type { Notification } from "../../packages/contracts/notification/order.ts";
import {
	type Result,
	soonest,
} from "../../packages/kube/reconcile/controller.ts";
import type { Webhooks } from "./webhooks.ts";

/** Of a resource, in its status. */
const maxPending = 10;
const keepMs = 2 * 24 * 3_600_000;

export interface DueNotifications {
	/** To hand over now. */
	due: Notification[];
	/** To keep in the status until a webhook is usable. */
	kept: Notification[];
}

/** What is to be done with news, and with what earlier attempts left. */
export function dueNotifications(
	{ status }: Pipeline | Source,
	news: readonly Notification[],
	{ usable, problem }: Webhooks,
	now: number,
): DueNotifications {
	const all = [...pendingOf(status), ...news]
		.filter(({ time }) => Date.parse(time) > now - keepMs)
		.slice(-maxPending);
	if (usable.length > 0) return { due: all, kept: [] };
	return { due: [], kept: problem ? all : [] };
}

/** What the status keeps. */
export function pendingOf(
	status: (Pipeline | Source)["status"],
): Notification[] {
	return (status?.pendingNotifications ?? []) as Notification[];
}

/** A status that keeps what could not be handed over. */
export function withPending<T extends object>(
	status: T,
	left: Notification[],
): T {
	return left.length === 0 ? status : { ...status, pendingNotifications: left };
}

const retryMs = 15_000;

/** When to look again: soon, if something could not be handed over. */
export function soonerIf(
	left: readonly Notification[],
	result: Result | undefined,
): Result | undefined {
	return left.length === 0 ? result : soonest(result, retryMs);
}
