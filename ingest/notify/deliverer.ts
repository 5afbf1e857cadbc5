// @nats-io/jetstream: the NATS makers' own client.
import { type Consumer, type JsMsg, jetstream } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { Counter, Gauge, type Registry } from "prom-client";
import { notifications } from "../../packages/contracts/nats.ts";
import {
	type NotificationOrder,
	type NotificationWebhook,
	webhookDigest,
	webhookPurpose,
} from "../../packages/contracts/notification.ts";
import type { Logger } from "../../packages/service/log.ts";
import { pause } from "../../packages/service/pause.ts";
import type { SecretSealer } from "../../packages/service/seal-key.ts";
import { haveMade } from "../../packages/streams/made-streams.ts";
import { type CallOptions, callWebhook } from "./checked-request.ts";
import { decide, type NextStep } from "./delivery-step.ts";
import { type DispatchLimits, FairDispatcher } from "./dispatcher.ts";
import type { DeliveryReports } from "./reports.ts";
import { signedRequest } from "./signed-request.ts";

/** Orders in memory, at most about 8 KiB each. */
const maxInHand = 2_000;
const retryDelayMs = 1_000;

interface DelivererOptions {
	nats: NatsConnection;
	reports: DeliveryReports;
	sealKey: SecretSealer;
	call: CallOptions;
	limits: DispatchLimits;
	/** Called after each attempt. */
	onAttempt: (state: NextStep["state"]) => void;
	log: Logger;
}

/**
 * Delivers the orders that wait in NATS, each at least once: an order leaves the queue after its delivery, or when it is given
 * up. If a process dies, another one gets its orders.
 */
export class WebhookDeliverer {
	readonly #options: DelivererOptions;
	readonly #dispatcher: FairDispatcher<JsMsg>;

	constructor(options: DelivererOptions) {
		this.#options = options;
		this.#dispatcher = new FairDispatcher(options.limits, (message) =>
			this.#deliver(message),
		);
	}

	/** How many orders this process has. */
	get inHand(): number {
		return this.#dispatcher.inHand.size;
	}

	/** Until the signal; then finishes the attempts that have begun. Never throws. */
	async run(signal: AbortSignal): Promise<void> {
		const { nats, log } = this.#options;
		// So that nobody else gets what waits here.
		const keeping = setInterval(() => {
			for (const message of this.#dispatcher.inHand) message.working();
		}, notifications.ackWaitMs / 3);
		while (!signal.aborted)
			try {
				const orders = await openOrders(nats);
				while (!signal.aborted) {
					const room = maxInHand - this.inHand;
					if (room === 0) await this.#dispatcher.changed;
					else
						await takeOrders(
							orders,
							room,
							(message) => this.#dispatcher.add(message.subject, message),
							signal,
						);
				}
			} catch (error) {
				// The operator may not have created the stream yet.
				log.debug({ err: error }, "failed to take orders; trying again");
				await pause(retryDelayMs, signal);
			}
		await this.#dispatcher.stop();
		clearInterval(keeping);
	}

	async #deliver(message: JsMsg): Promise<void> {
		const { log } = this.#options;
		try {
			const order = message.json<NotificationOrder>();
			const attempt = message.info.deliveryCount;
			const step = await this.#attempt(order, attempt);
			await this.#report(order, attempt, step);
			if (step.state === "Delivering") message.nak(step.afterMs);
			else message.ack();
		} catch (error) {
			log.error({ err: error }, "an order is unreadable and is removed");
			message.term("unreadable");
		}
	}

	async #attempt(order: NotificationOrder, attempt: number): Promise<NextStep> {
		const { sealKey, call } = this.#options;
		const webhook = opened(order, sealKey);
		const outcome = webhook
			? await callWebhook(
					webhook.url,
					signedRequest(order, webhook, Date.now()),
					call,
				)
			: { error: foreignKey };
		return decide(outcome, attempt, Math.random());
	}

	async #report(
		order: NotificationOrder,
		attempts: number,
		step: NextStep,
	): Promise<void> {
		const { reports, onAttempt, log } = this.#options;
		const { account, kind, name, secret, notification } = order;
		onAttempt(step.state);
		const error = "error" in step ? step.error : undefined;
		const about = { account, kind, name, secret, id: notification.id };
		log[error ? "warn" : "info"](
			{ ...about, attempts, state: step.state, reason: error },
			"called a webhook",
		);
		try {
			const outcome = await reports.write(order, {
				version: 1,
				id: notification.id,
				state: step.state,
				attempts,
				time: new Date().toISOString(),
				...(error !== undefined && { error }),
				webhook: webhookDigest(order),
			});
			if (outcome === "full")
				log.warn(about, "the account has no room for another report");
		} catch (err) {
			// The delivery counts for more than its report.
			log.warn({ ...about, err }, "failed to report a delivery");
		}
	}
}

/** While the key is replaced, operator and notify may have different ones for a while. */
const foreignKey =
	"Notify can't read the webhook's address: its seal key is not the operator's. Give both the same key.";

/** Undefined if the order is sealed with another key. */
function opened(
	{ sealed, sealKeyId, account }: NotificationOrder,
	sealKey: SecretSealer,
): NotificationWebhook | undefined {
	try {
		const purpose = webhookPurpose(account);
		return JSON.parse(sealKey.open(sealed, purpose, sealKeyId).toString());
	} catch {
		return undefined;
	}
}

/** @param inHand how many orders this process has. */
export function notifyMetrics(registry: Registry, inHand: () => number) {
	const registers = [registry];
	const attempts = new Counter({
		name: "tidemill_notify_attempts_total",
		help: "Calls of webhooks, by what they lead to: Delivered, Delivering (another attempt follows) or Failed (none does).",
		labelNames: ["state"],
		registers,
	});
	for (const state of ["Delivered", "Delivering", "Failed"] as const)
		attempts.inc({ state }, 0);
	new Gauge({
		name: "tidemill_notify_orders",
		help: "Notifications that this process is delivering now or next. Those that wait for another attempt are in NATS.",
		registers,
		collect() {
			this.set(inHand());
		},
	});
	return {
		attempted: (state: NextStep["state"]) => attempts.inc({ state }),
	};
}

/** The orders that wait in NATS. All processes share one consumer, so each order is with one of them at a time. */
export async function openOrders(nats: NatsConnection): Promise<Consumer> {
	const { stream, consumer } = notifications;
	const { consumers } = jetstream(nats, { checkAPI: false });
	try {
		return await consumers.get(stream, consumer);
	} catch {
		// Perhaps there is none yet.
		await haveMade(nats, consumer, 1);
		return consumers.get(stream, consumer);
	}
}

/** Gives each order that arrives to `take`, at most `max` of them, and returns when there were none for a while. */
async function takeOrders(
	consumer: Consumer,
	max: number,
	take: (message: JsMsg) => void,
	signal: AbortSignal,
): Promise<void> {
	const messages = await consumer.fetch({ max_messages: max, expires: 5_000 });
	const stop = () => messages.stop();
	signal.addEventListener("abort", stop);
	try {
		for await (const message of messages) take(message);
	} finally {
		signal.removeEventListener("abort", stop);
	}
}
