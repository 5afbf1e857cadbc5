import type { Pipeline, Source } from "../../crds/generated/types.ts";
import type {
	DeliveryReport,
	Notification,
} from "../../packages/contracts/notification.ts";
import type { Secret } from "../../packages/kube/kinds.ts";
import type { SecretSealer } from "../../packages/service/seal-key.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import type { FindingOf } from "../reconcile/reasons.ts";
import { readSecret } from "../reconcile/secret-ref.ts";
import type { HandOver, NotificationOutbox } from "./outbox.ts";
import type { NotificationWebhooks } from "./webhooks.ts";
import { webhookSecretsOf, webhooksOf } from "./webhooks.ts";

/** What the controllers notify people's webhooks with. */
export interface NotificationDeps {
	outbox: NotificationOutbox;
	sealKey: SecretSealer | undefined;
}

export async function readNotifications(
	context: Pick<OperatorContext, "client" | "informers"> & NotificationDeps,
	resource: Pipeline | Source,
	handedOver?: HandOver,
): Promise<NotificationState> {
	const { sealKey, outbox } = context;
	const namespace = resource.metadata.namespace!;
	const isNamed = resource.spec.notify?.secretRefs !== undefined;
	const secrets = new Map<string, Secret | undefined>();
	for (const name of webhookSecretsOf(resource))
		secrets.set(
			name,
			isNamed
				? await readSecret(context, namespace, name)
				: // Most namespaces have none, which is nothing to ask the apiserver about.
					context.informers.secrets.get(namespace, name),
		);
	const webhooks = webhooksOf(resource, (name) => secrets.get(name), sealKey);
	const deliveries = outbox.deliveriesOf(resource, webhooks);
	return { webhooks, deliveries, handedOver };
}

/** What decides about a resource's notifications, beside the resource. */
export interface NotificationState {
	webhooks: NotificationWebhooks;
	/** What notify last reported of each webhook as it is now, by the Secret's name. */
	deliveries: ReadonlyMap<string, DeliveryReport>;
	/** What came of handing over what was due. */
	handedOver?: HandOver | undefined;
}

/** Whether the webhooks were notified; nothing if there are none. */
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
			message: `The webhook in Secret "${failed[0]}" could not be notified, and is not called again for this notification: ${failed[1].error}`,
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

/** Of a resource, in its status. */
const maxPending = 10;
const keepMs = 2 * 24 * 3_600_000;

const retryMs = 15_000;

/** What is to be done with what has changed, and with what earlier attempts left. */
export function dueNotifications(
	{ status }: Pipeline | Source,
	changes: readonly Notification[],
	{ webhooks: { usable, problem }, handedOver }: NotificationState,
	now: number,
): {
	/** To hand over now. */
	due: Notification[];
	/** To keep in the status until a webhook is usable, or NATS takes them. */
	kept: Notification[];
	/** When to try again what NATS didn't take. */
	retryMs: number | undefined;
} {
	const all = [...pendingOf(status), ...changes]
		.filter(({ time }) => Date.parse(time) > now - keepMs)
		.slice(-maxPending);
	if (usable.length === 0)
		return { due: [], kept: problem ? all : [], retryMs: undefined };
	if (!handedOver || all.some(({ id }) => !handedOver.ids.includes(id)))
		return { due: all, kept: [], retryMs: undefined };
	const kept = all.filter(({ id }) =>
		handedOver.left.some((left) => left.id === id),
	);
	return { due: [], kept, retryMs: kept.length > 0 ? retryMs : undefined };
}

/** What the status keeps. */
export function pendingOf(
	status: (Pipeline | Source)["status"],
): Notification[] {
	return (status?.pendingNotifications ?? []) as Notification[];
}
