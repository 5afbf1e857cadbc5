import type { NotificationOrder } from "./order.ts";

/** How the latest notification of a resource for a webhook went: an entry of {@link file://./nats.ts bucket.deliveries}. */
export interface Delivery {
	version: 1;
	id: string;
	/** `Delivering` after an attempt that failed, if another one follows. */
	state: "Delivered" | "Delivering" | "Failed";
	attempts: number;
	/** Of the latest attempt, RFC 3339. */
	time: string;
	/** Why the latest attempt failed, without secrets. */
	error?: string;
	/** {@link webhookDigest} of the order: a failure says nothing about what the Secret holds later. */
	webhook: string;
}

/** How many notify keeps, of all namespaces. In the operator's memory they take some 30 MB. */
export const maxDeliveries = 50_000;

/** Names of accounts, Pipelines and Sources have no dots. */
export function deliveryKey(
	of: Pick<NotificationOrder, "account" | "kind" | "name" | "secret">,
): string {
	return `${of.account}.${of.kind}.${of.name}.${of.secret}`;
}
