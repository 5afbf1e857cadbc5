import { randomUUID } from "node:crypto";
import { StorageType } from "@nats-io/jetstream";
// @nats-io/kv: the NATS makers' own key-value client.
import { type KV, Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import {
	type ArchiveAnnouncement,
	announceEveryMs,
} from "../../packages/contracts/archive.ts";
import { bucket } from "../../packages/contracts/nats.ts";
import type { Logger } from "../../packages/service/log.ts";
import { pause } from "../../packages/service/pause.ts";
import { newestFrameVersion } from "../wire/frame.ts";

export interface AnnouncementOptions {
	connection: NatsConnection;
	/** Of the bucket. */
	replicas: number;
	shards: number[];
	log: Logger;
}

/** A process that was killed stays in the bucket for this long. It counts for a few seconds only. */
const keepMs = 24 * 60 * 60_000;
const retryMs = 1_000;

/**
 * Announces which frames this process reads, then does the work, and announces it again and again until the work has ended.
 * Rejects as the work does.
 */
export async function whileAnnounced(
	options: AnnouncementOptions,
	signal: AbortSignal,
	work: () => Promise<unknown>,
): Promise<void> {
	const announcement = new Announcement(options);
	while (!signal.aborted && !(await announcement.make()))
		await pause(retryMs, signal);
	const repeating = setInterval(() => announcement.make(), announceEveryMs);
	try {
		await work();
	} finally {
		clearInterval(repeating);
		await announcement.withdraw();
	}
}

class Announcement {
	readonly #options: AnnouncementOptions;
	readonly #id = randomUUID();
	#bucket: KV | undefined;

	constructor(options: AnnouncementOptions) {
		this.#options = options;
	}

	/** Returns false if it failed. */
	async make(): Promise<boolean> {
		const { connection, replicas, shards, log } = this.#options;
		const announcement: ArchiveAnnouncement = {
			frameVersion: newestFrameVersion,
			shards,
		};
		try {
			this.#bucket ??= await new Kvm(connection).create(bucket.archives, {
				replicas,
				history: 1,
				storage: StorageType.File,
				ttl: keepMs,
			});
			await this.#bucket.put(this.#id, JSON.stringify(announcement));
			return true;
		} catch (error) {
			// Somebody may have deleted the bucket.
			this.#bucket = undefined;
			log.warn(
				{ err: error },
				"failed to announce this archive to receive; trying again",
			);
			return false;
		}
	}

	/** So that receive needn't wait to know that this process reads no more. */
	async withdraw(): Promise<void> {
		// NATS may be away. Then the silence tells.
		await this.#bucket?.purge(this.#id).catch(() => undefined);
	}
}
