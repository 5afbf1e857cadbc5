import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { bucket } from "../../packages/contracts/nats.ts";
import {
	type DeliveryReport,
	deliveryKey,
	maxDeliveries,
	type NotificationOrder,
} from "../../packages/contracts/notification.ts";
import { FairQuota } from "../../packages/fair/fair-quota.ts";
import {
	countMessages,
	isConflict,
} from "../../packages/service/nats/connection.ts";
import { haveMade, streamOf } from "../../packages/streams/made-streams.ts";

const stream = streamOf(bucket.deliveries);
const timeoutMs = 5_000;

type Reported = "reported" | "full";

/**
 * Tells the operator how deliveries went. An account that has ever new Pipelines report leaves the others their room: the bucket
 * refuses everybody once it is full.
 */
export class DeliveryReports {
	readonly #nats: NatsConnection;
	readonly #replicas: number;
	readonly #quota: FairQuota;
	#isOpen = false;

	/** @param maxReports of all accounts. */
	constructor(
		nats: NatsConnection,
		replicas: number,
		maxReports = maxDeliveries,
	) {
		this.#nats = nats;
		this.#replicas = replicas;
		this.#quota = new FairQuota({
			countAll: async () => {
				const manager = await jetstreamManager(nats, { checkAPI: false });
				const { state } = await manager.streams.info(stream);
				return { entries: state.messages, maxEntries: maxReports };
			},
			countOf: (account) =>
				countMessages(
					nats,
					stream,
					`$KV.${bucket.deliveries}.${account}.>`,
					timeoutMs,
				),
			now: () => performance.now(),
		});
	}

	/** Returns `full` if the account has taken its share of the bucket, and has no report of this webhook to replace. Throws errors of NATS. */
	async write(
		order: Pick<NotificationOrder, "account" | "kind" | "name" | "secret">,
		delivery: DeliveryReport,
	): Promise<Reported> {
		try {
			if (!this.#isOpen) await this.#open();
			const subject = `$KV.${bucket.deliveries}.${deliveryKey(order)}`;
			const text = JSON.stringify(delivery);
			await this.#quota.look(order.account);
			const created = await this.#quota.add(order.account, () =>
				this.#create(subject, text),
			);
			if (created === "full") return await this.#replace(subject, text);
			if (created === undefined)
				await jetstream(this.#nats, { checkAPI: false }).publish(subject, text);
			return "reported";
		} catch (error) {
			// Somebody may have deleted the bucket.
			this.#isOpen = false;
			throw error;
		}
	}

	async #open(): Promise<void> {
		await haveMade(this.#nats, stream, this.#replicas);
		this.#isOpen = true;
	}

	/** Others may have left the account no more room, but its reports stay its own: a new one in the place of an old one takes none. */
	async #replace(subject: string, text: string): Promise<Reported> {
		const last = await this.#nats.request(
			`$JS.API.DIRECT.GET.${stream}`,
			JSON.stringify({ last_by_subj: subject }),
			{ timeout: timeoutMs },
		);
		if (last.headers?.code === 404) return "full";
		// Expired meanwhile, it isn't made anew.
		const lastSubjectSequence = Number(last.headers?.get("Nats-Sequence"));
		await jetstream(this.#nats, { checkAPI: false }).publish(subject, text, {
			expect: { lastSubjectSequence },
		});
		return "reported";
	}

	/** Undefined if there is a report of the same webhook, to be replaced. */
	async #create(subject: string, text: string): Promise<true | undefined> {
		try {
			await jetstream(this.#nats, { checkAPI: false }).publish(subject, text, {
				expect: { lastSubjectSequence: 0 },
			});
			return true;
		} catch (error) {
			if (isConflict(error)) return undefined;
			throw error;
		}
	}
}
