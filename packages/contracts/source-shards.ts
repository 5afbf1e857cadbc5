/**
 * The shards that may hold a Source's events, in the bucket of source keys under {@link shardsKey}: absent while there is only
 * the one of its route. The set only grows, and it grows before receive writes to the new shard, so whoever asks for the
 * Source's events asks all of them: docs/decisions/0026-a-source-keeps-its-former-shards.md.
 */
export interface SourceShards {
	version: 1;
	/** In the order in which the Source came to them. */
	shards: number[];
}

/** Beside the source key's own entry, which says whose it is and is written once. No source key has a dot. */
export function shardsKey(sourceKey: string): string {
	return `shards.${sourceKey}`;
}

/** The first set with what the others add. */
export function unitedShards(...sets: readonly (readonly number[])[]) {
	return [...new Set(sets.flat())];
}
