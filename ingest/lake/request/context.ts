import type { SourceName } from "../../../packages/bucket/object-keys.ts";
import type { Store } from "../../../packages/bucket/object-store.ts";
import type { Manifest } from "../../../packages/contracts/manifest.ts";
import type { FairLimit } from "../../../packages/fair/fair-limit.ts";
import type { Logger } from "../../../packages/service/log.ts";
import type { ArchiveMetrics } from "../../archive/write/archive-metrics.ts";
import type { NatsProgress } from "../../archive/write/nats-progress.ts";
import type { Tombstones } from "../../archive/write/tombstones.ts";
import type { Replacements } from "../objects/replacements.ts";

/**
 * Whether rows of a source that were read still count. Each throws {@link RequestFailure} ManifestOutdated if they don't, or may not.
 */
export interface RowsThatCount {
	/** Of what a manifest names. */
	requireNoneSince(manifest: Omit<Manifest, "dates">): Promise<void>;
	/** How often rows of the source have ceased to count. */
	count(source: SourceName): Promise<number>;
	/** @param since words that follow "since". */
	requireCount(source: SourceName, count: number, since: string): Promise<void>;
}

/** What the lake answers with, the same for all shards of this process. */
export interface LakeContext {
	store: Store;
	tombstones: Tombstones;
	/** What others have registered. */
	replaced: Replacements;
	counted: RowsThatCount;
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
