/** Which bucket it is, and how far it has come. A copy of the bucket has both, as they were when it was made. */
export interface BucketMark {
	id: string;
	/** It only grows. */
	number: number;
}

/** What NATS knows of archive's bucket. */
export interface KnownBucket extends BucketMark {
	/** When a person last accepted another bucket, or an older copy. RFC 3339. */
	accepted?: string;
}

/**
 * - `Same`: the bucket that NATS knows, or a later state of it.
 * - `New`: neither NATS nor the bucket has a mark, as at the first start.
 * - `Taken`: NATS knows none, as in a restored cluster, so it takes the bucket's.
 * - `OlderCopy`: the bucket has been further.
 * - `OtherBucket`: NATS knows another one.
 */
export type BucketVerdict =
	| "Same"
	| "New"
	| "Taken"
	| "OlderCopy"
	| "OtherBucket";

/** @param known must be read before `found`, which other archives raise first. */
export function judgeBucket(
	known: BucketMark | undefined,
	found: BucketMark | undefined,
): BucketVerdict {
	if (!known) return found ? "Taken" : "New";
	if (found?.id !== known.id) return "OtherBucket";
	return found.number < known.number ? "OlderCopy" : "Same";
}

/**
 * Why archive may not use the bucket; undefined if it may.
 * @param place names the bucket and the folder.
 */
export function refusalOf(
	known: BucketMark | undefined,
	found: BucketMark | undefined,
	place: string,
): string | undefined {
	const verdict = judgeBucket(known, found);
	if (verdict === "OlderCopy")
		return `BucketIsOlder: ${place} is an older copy of the bucket: it has number ${found!.number}, and archive has seen ${known!.number}. Archive changes nothing in it, and events wait in NATS. Restore the newest copy. If there is none, accept this one: \`tidemill ledger accept-bucket\``;
	if (verdict === "OtherBucket")
		return `BucketIsAnother: ${place} ${found ? `is the bucket ${found.id}` : "has no id"}, and archive's is ${known!.id}. Archive changes nothing in it, and events wait in NATS. Set S3_BUCKET and S3_PREFIX back, or restore the bucket. If this is to be archive's from now on, accept it: \`tidemill ledger accept-bucket\``;
	return undefined;
}

/** The mark of a bucket that a person accepts. It is above all that NATS has seen, so that copies of before are found again. */
export function acceptedMark(
	known: BucketMark | undefined,
	found: BucketMark | undefined,
	newId: string,
): BucketMark {
	const number = Math.max(known?.number ?? 0, found?.number ?? 0) + 1;
	return { id: found?.id ?? newId, number };
}
