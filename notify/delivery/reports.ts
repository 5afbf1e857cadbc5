// @nats-io/kv: the NATS makers' own key-value client.
import { type KV, Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { bucket } from "../../contracts/nats.ts";
import {
	type Delivery,
	deliveryKey,
} from "../../contracts/notification/delivery.ts";
import type { NotificationOrder } from "../../contracts/notification/order.ts";

const keepMs = 7 * 24 * 3_600_000;
const maxBytes = 64 * 1024 ** 2;

/** Tells the operator how deliveries went. */
export class DeliveryReports {
	readonly #nats: NatsConnection;
	readonly #replicas: number;
	#bucket: KV | undefined;

	constructor(nats: NatsConnection, replicas: number) {
		this.#nats = nats;
		this.#replicas = replicas;
	}

	/** Throws errors of NATS. */
	async write(order: NotificationOrder, delivery: Delivery): Promise<void> {
		try {
			this.#bucket ??= await new Kvm(this.#nats).create(bucket.deliveries, {
				history: 1,
				replicas: this.#replicas,
				ttl: keepMs,
				max_bytes: maxBytes,
			});
			await this.#bucket.put(deliveryKey(order), JSON.stringify(delivery));
		} catch (error) {
			// Somebody may have deleted the bucket.
			this.#bucket = undefined;
			throw error;
		}
	}
}
