import { JetStreamApiError, jetstream } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import type { Pipeline, Source } from "../../crds/generated/types.ts";
import { bucket, notifications } from "../../packages/contracts/nats.ts";
import {
	type DeliveryReport,
	deliveryKey,
	maxDeliveries,
	type Notification,
	type NotificationOrder,
	webhookDigest,
} from "../../packages/contracts/notification.ts";
import type { Logger } from "../../packages/service/log.ts";
import { BucketWatch } from "../../packages/service/nats/bucket-watch.ts";
import { onReconnect } from "../../packages/service/nats/connection.ts";
import { openWatched } from "../../packages/streams/changes.ts";
import { haveMade } from "../../packages/streams/made-streams.ts";
import type { NotificationWebhooks, SealedWebhook } from "./webhooks.ts";

const timeoutMs = 5_000;
/** While NATS is away, nobody waits for it again and again. */
const restMs = 10_000;

type About = Pick<NotificationOrder, "account" | "kind" | "name">;

/** What came of handing notifications over. */
export interface HandOver {
	/** Ids of all. */
	ids: string[];
	/** Those that NATS didn't take. */
	left: Notification[];
}

/** Hands notifications to notify, and knows how their delivery goes. */
export class NotificationOutbox {
	readonly #nats: NatsConnection;
	readonly #replicas: number;
	readonly #log: Logger;
	readonly #deliveries = new Map<string, DeliveryReport>();
	readonly #handlers: ((about: About) => void)[] = [];
	#restUntilMs = 0;

	constructor(
		nats: NatsConnection,
		options: { replicas: number; log: Logger },
	) {
		this.#nats = nats;
		this.#replicas = options.replicas;
		this.#log = options.log;
	}

	/** What notify reported of the webhooks as they are now, by the Secret's name. */
	deliveriesOf(
		resource: Pipeline | Source,
		{ usable }: NotificationWebhooks,
	): Map<string, DeliveryReport> {
		const about = aboutOf(resource);
		return new Map(
			usable.flatMap(({ secret, sealed, otherDigests = [] }) => {
				const digests = [webhookDigest({ sealed }), ...otherDigests];
				const key = deliveryKey({ ...about, secret });
				const delivery = this.#deliveries.get(key);
				return delivery && digests.includes(delivery.webhook)
					? [[secret, delivery] as const]
					: [];
			}),
		);
	}

	/** Called when notify has reported something. */
	onChange(handler: (about: About) => void): void {
		this.#handlers.push(handler);
	}

	/** Follows the reports until the signal. Never throws. Notify creates the bucket at its first report. */
	run(signal: AbortSignal): Promise<void> {
		const watch = new BucketWatch(
			() => openWatched(this.#nats, bucket.deliveries),
			{
				set: (key, value) => {
					if (value === undefined) this.#deliveries.delete(key);
					else this.#remember(key, JSON.parse(value));
					const [account = "", kind, name = ""] = key.split(".");
					for (const handler of this.#handlers)
						handler({ account, kind: kind as About["kind"], name });
				},
			},
			this.#log,
		);
		void onReconnect(this.#nats, () => {
			this.#restUntilMs = 0;
			watch.readAgain();
		});
		return watch.run(signal);
	}

	/** The bucket forgets by itself, without a word. It never has more, so whatever goes here isn't there any more. */
	#remember(key: string, delivery: DeliveryReport): void {
		this.#deliveries.delete(key);
		this.#deliveries.set(key, delivery);
		const [oldest] = this.#deliveries.keys();
		if (this.#deliveries.size > maxDeliveries) this.#deliveries.delete(oldest!);
	}

	/**
	 * Hands each notification over for each webhook. A repeated notification has the
	 * same id, by which NATS drops it within minutes and receivers drop it later. Never throws.
	 */
	async handOver(
		resource: Pipeline | Source,
		due: readonly Notification[],
		webhooks: readonly SealedWebhook[],
	): Promise<HandOver> {
		const left: Notification[] = [];
		for (const notification of due) {
			if (Date.now() < this.#restUntilMs) {
				left.push(notification);
				continue;
			}
			try {
				for (const webhook of webhooks)
					await this.#send(aboutOf(resource), notification, webhook);
			} catch (err) {
				// A refusal is this account's, not NATS's.
				if (!(err instanceof JetStreamApiError))
					this.#restUntilMs = Date.now() + restMs;
				this.#log.debug({ err }, "failed to hand a notification over");
				left.push(notification);
			}
		}
		return { ids: due.map(({ id }) => id), left };
	}

	async #send(
		about: About,
		notification: Notification,
		{ secret, sealed, sealKeyId }: SealedWebhook,
	): Promise<void> {
		const order: NotificationOrder = {
			version: 1,
			...about,
			notification,
			secret,
			sealed,
			...(sealKeyId !== undefined && { sealKeyId }),
		};
		const subject = notifications.subject(about.account);
		const options = {
			msgID: `${notification.id}.${secret}`,
			expect: { streamName: notifications.stream },
			timeout: timeoutMs,
		};
		const text = JSON.stringify(order);
		const client = jetstream(this.#nats, { checkAPI: false });
		try {
			await client.publish(subject, text, options);
		} catch (error) {
			if (error instanceof JetStreamApiError) throw error;
			// Perhaps nothing listens, since there is no stream yet.
			await haveMade(this.#nats, notifications.stream, this.#replicas);
			await client.publish(subject, text, options);
		}
	}
}

function aboutOf({ kind, metadata }: Pipeline | Source): About {
	return {
		account: metadata.namespace!,
		kind: kind as About["kind"],
		name: metadata.name,
	};
}
