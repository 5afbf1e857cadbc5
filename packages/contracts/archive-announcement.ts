/**
 * Each archive process keeps one in the bucket `archives`, under a key of its own: from before it reads its first frame, and
 * again every {@link announceEveryMs}, until it stops. Receive writes a frame of a newer version only once every living
 * archive of the shard reads that version, so an upgrade in the wrong order stops no shard.
 */
export interface ArchiveAnnouncement {
	/** It reads this version of the frame format and all earlier ones. */
	frameVersion: number;
	/** The shards that it archives. */
	shards: number[];
}

export const announceEveryMs = 5_000;

/**
 * An archive that has been silent for this long while another one of its shard announced has died. While none announces, the
 * last ones count: they may come back, and events are stored meanwhile.
 */
export const maxSilenceMs = 30_000;
