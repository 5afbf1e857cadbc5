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
import {
	isNoRoom,
	natsReason,
} from "../../packages/service/nats/connection.ts";
import { pause } from "../../packages/service/pause.ts";
import { republished } from "../../packages/streams/made-streams.ts";
import { newestFrameVersion } from "../wire/frame.ts";

export interface AnnouncementOptions {
	connection: NatsConnection;
	/** Of the bucket. */
	replicas: number;
	shards: number[];
	log: Logger;
	/** Learns why the work can't begin yet; undefined once it can. */
	onWait?: (reason: string | undefined) => void;
}

/** A process that was killed stays in the bucket for this long. It counts for a few seconds only. */
const keepMs = 24 * 60 * 60_000;
const retryMs = 1_000;

/**
 * Announces which frames this process reads, then does the work, and announces it again and again until the work has ended.
 * While NATS has no room for it, receive can store no frame either, and the work makes room.
 * Rejects as the work does.
 */
export async function whileAnnounced(
	{ connection, replicas, shards, log, onWait }: AnnouncementOptions,
	signal: AbortSignal,
	work: () => Promise<unknown>,
): Promise<void> {
	const id = randomUUID();
	const announcement: ArchiveAnnouncement = {
		frameVersion: newestFrameVersion,
		shards,
	};
	let archives: KV | undefined;
	/** Returns false if it failed, and has to come before the work. */
	const announce = async (): Promise<boolean> => {
		try {
			archives ??= await new Kvm(connection).create(bucket.archives, {
				replicas,
				history: 1,
				storage: StorageType.File,
				ttl: keepMs,
				...republished(bucket.archives),
			});
			await archives.put(id, JSON.stringify(announcement));
			onWait?.(undefined);
			return true;
		} catch (error) {
			// Somebody may have deleted the bucket.
			archives = undefined;
			const reason = natsReason(error);
			const mayWork = isNoRoom(error);
			onWait?.(mayWork ? undefined : `can't announce itself: ${reason}`);
			log.warn(
				{ err: error, reason },
				"failed to announce this archive to receive; trying again",
			);
			return mayWork;
		}
	};
	while (!signal.aborted && !(await announce())) await pause(retryMs, signal);
	const repeating = setInterval(announce, announceEveryMs);
	try {
		await work();
	} finally {
		clearInterval(repeating);
		// Receive needn't wait to know that this process reads no more. If NATS is away, the silence says so.
		await archives?.purge(id).catch(() => undefined);
	}
}
