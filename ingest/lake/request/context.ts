import type { FairLimit } from "../../../packages/fair/fair-limit.ts";
import type { Logger } from "../../../packages/service/log.ts";
import type {
	FileStore,
	ObjectStore,
	PartStore,
} from "../../archive/s3/object-store.ts";
import type { ArchiveMetrics } from "../../archive/write/archive-metrics.ts";
import type { NatsProgress } from "../../archive/write/nats-progress.ts";
import type { Tombstones } from "../../archive/write/tombstones.ts";

/** What the lake answers with, the same for all shards of this process. */
export interface LakeContext {
	store: ObjectStore & FileStore & PartStore;
	tombstones: Tombstones;
	metrics: ArchiveMetrics;
	/** PEM certificates that a Run's Job needs in order to trust the store. */
	authorities: () => string | undefined;
	/** Who may read events. */
	reading: FairLimit;
	/** Who may release or import events. */
	changing: FairLimit;
	progress: () => Promise<NatsProgress>;
	/** A folder for files. */
	scratch: string;
	log: Logger;
}
