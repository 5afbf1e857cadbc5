import { createHash } from "node:crypto";

/** What happened to a Pipeline or a Source, in the words of `spec.notify`. */
type NotificationType =
	| "RunFailed"
	| "RunRecovered"
	| "RunLate"
	| "ValuesUnfit"
	| "ValuesRecovered"
	| "SourceQuiet"
	| "SourceRecovered";

/** One thing that happened. */
export interface Notification {
	/** Follows from what happened, so that a repeated decision is the same notification. It becomes `webhook-id`. */
	id: string;
	type: NotificationType;
	/** RFC 3339. */
	time: string;
	/** For people, without secrets. */
	message: string;
	/** Name of the Run. */
	run?: string;
}

/** One notification for one webhook: a message of {@link file://./nats.ts notifications}. */
export interface NotificationOrder {
	version: 1;
	/** Namespace of the resource. */
	account: string;
	kind: "Pipeline" | "Source";
	/** metadata.name of the resource. */
	name: string;
	notification: Notification;
	/** Name of the Secret that holds the webhook. */
	secret: string;
	/** A {@link NotificationWebhook} as JSON, sealed for {@link webhookPurpose} by {@link file://../service/seal-key.ts}. */
	sealed: string;
	/** Id of the seal key; absent in orders of an operator that had one key. */
	sealKeyId?: string;
}

/** Where and how to call. Its URL may be a credential. */
export interface NotificationWebhook {
	url: string;
	format: "StandardWebhooks" | "Slack";
	/** The key's bytes in Base64; StandardWebhooks only. */
	signingKey?: string;
}

export function webhookPurpose(account: string): string {
	return `notification ${account}`;
}

export function webhookDigest({
	sealed,
}: Pick<NotificationOrder, "sealed">): string {
	return createHash("sha256").update(sealed).digest("hex").slice(0, 16);
}

/** How the latest notification of a resource for a webhook went: an entry of {@link file://./nats.ts bucket.deliveries}. */
export interface DeliveryReport {
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
