/**
 * A Run reads what its manifest names, which was made before the compaction at the latest, by links that live for a day
 * (manifest-desk.ts); the hour is for the making.
 */
const readersMs = 25 * 3_600_000;

/**
 * Whether everybody who was told to read the objects that a compaction replaced has been told otherwise since, or has
 * links that no longer work. `recordedMs` is when the store took the record. By both clocks: one may have jumped.
 */
export function hasOutlivedReaders(
	recordedMs: number,
	{ nowMs, storeNowMs }: { nowMs: number; storeNowMs: number },
): boolean {
	return Math.min(nowMs, storeNowMs) - recordedMs > readersMs;
}
