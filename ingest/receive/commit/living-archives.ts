import {
	type ArchiveAnnouncement,
	maxSilenceMs,
} from "../../../packages/contracts/archive.ts";
import type { BucketReader } from "../../../packages/service/nats/bucket-watch.ts";
import type { FrameVersion } from "../../wire/frame.ts";

/** An announcement, and when it was written, on NATS's clock. */
interface Announced extends ArchiveAnnouncement {
	atMs: number;
}

/** What the archives announce about themselves: the content of the bucket `archives`. */
export class LivingArchives implements BucketReader {
	#announced = new Map<string, Announced>();
	#incoming: Map<string, Announced> | undefined;

	/** Whether every living archive of the shard reads frames of this version. False before one has announced itself. */
	read(shard: number, version: FrameVersion): boolean {
		const ofShard = [...this.#announced.values()].filter(({ shards }) =>
			shards.includes(shard),
		);
		const latestMs = Math.max(...ofShard.map(({ atMs }) => atMs));
		return (
			ofShard.length > 0 &&
			ofShard.every(
				({ atMs, frameVersion }) =>
					frameVersion >= version || latestMs - atMs > maxSilenceMs,
			)
		);
	}

	begin(): void {
		this.#incoming = new Map();
	}

	set(
		key: string,
		value: string | undefined,
		_revision: number,
		atMs: number,
	): void {
		const announced = this.#incoming ?? this.#announced;
		if (value === undefined) announced.delete(key);
		else
			announced.set(key, {
				...(JSON.parse(value) as ArchiveAnnouncement),
				atMs,
			});
	}

	complete(): void {
		this.#announced = this.#incoming ?? this.#announced;
		this.#incoming = undefined;
	}

	seenCurrent(): void {}
}
