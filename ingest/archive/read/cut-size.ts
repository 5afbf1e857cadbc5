/** So many sources give their objects a useful size: 64 KiB in a cut of 8 MiB. */
const usualSources = 128;
/** Bounds the memory that a shard with very many sources takes. */
const mostTimes = 8;

/**
 * How many bytes of frames make a cut. Each source gets an object, whose file and request take longer than a few events, so
 * a cut of many sources is larger than `maxBytes`.
 */
export function cutBytes(maxBytes: number, sources: number): number {
	return maxBytes * Math.min(mostTimes, Math.max(1, sources / usualSources));
}
