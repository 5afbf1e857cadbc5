import type { Delivery } from "../../packages/contracts/notification/delivery.ts";
import type { Notification } from "../../packages/contracts/notification/order.ts";
import type { FindingOf } from "../reconcile/findings.ts";
import type { Webhooks } from "./webhooks.ts";

/** What decides about a resource's notifications, beside the resource. */
export interface NotificationState {
	webhooks: Webhooks;
	/** What notify last reported of each webhook as it is now, by the Secret's name. */
	deliveries: ReadonlyMap<string, Delivery>;
}

/** Whether the webhooks were told; nothing if there are none. */
export function deliveryFindingOf(
	{ webhooks, deliveries }: NotificationState,
	pending: readonly Notification[],
): FindingOf<"Pipeline", "NotificationsDelivered"> | undefined {
	const { usable, problem } = webhooks;
	if (problem) return { status: "False", ...problem };
	if (usable.length === 0) return undefined;
	const latest = [...deliveries].toSorted(([, a], [, b]) =>
		a.time < b.time ? 1 : -1,
	);
	const failed = latest.find(([, { state }]) => state === "Failed");
	if (failed)
		return {
			status: "False",
			reason: "DeliveryFailed",
			message: `The webhook in Secret "${failed[0]}" could not be told, and is not called again for this notification: ${failed[1].error}`,
		};
	if (pending.length > 0)
		return {
			status: "Unknown",
			reason: "Pending",
			message: `${counted(pending.length, "notification")} ${pending.length === 1 ? "waits" : "wait"} until NATS takes ${pending.length === 1 ? "it" : "them"}. NATS is unreachable, or too many of the namespace's wait to be delivered.`,
		};
	const trying = latest.find(([, { state }]) => state === "Delivering");
	if (trying)
		return {
			status: "Unknown",
			reason: "Delivering",
			message: `The webhook in Secret "${trying[0]}" was called ${counted(trying[1].attempts, "time")} and is called again: ${trying[1].error}`,
		};
	return latest.length === 0
		? {
				status: "True",
				reason: "NothingToTell",
				message: `Notifications go to ${usable.length === 1 ? "the webhook in Secret" : "the webhooks in Secrets"} ${usable.map(({ secret }) => `"${secret}"`).join(", ")}. There was none yet.`,
			}
		: {
				status: "True",
				reason: "Delivered",
				message: `The latest notification was delivered (${latest[0]![1].id}).`,
			};
}

function counted(count: number, noun: string): string {
	return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
