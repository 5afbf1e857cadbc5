/** How many may be kept at once after a quiet time, and how fast that grows back. */
export interface Pace {
	burst: number;
	perSecond: number;
}

interface Paces {
	ofSource: Pace;
	ofAccount: Pace;
	ofAll: Pace;
	/** Bytes of records. */
	ofAccountBytes: Pace;
	ofSourceBytes: Pace;
}

/** A debugging person sends few; a flood shows itself in the first ones. */
export const usualPaces: Paces = {
	ofSource: { burst: 20, perSecond: 0.2 },
	ofAccount: { burst: 40, perSecond: 0.5 },
	ofAll: { burst: 100, perSecond: 20 },
	ofAccountBytes: { burst: 96 * 1024, perSecond: 6 },
	ofSourceBytes: { burst: 24 * 1024, perSecond: 1.5 },
};

/** Each has a sample of its own. With so many, an account has an eighth of the stream at most. The chart's values say so. */
export const maxReceivers = 16;

/** Of Sources, and of accounts. One that is forgotten begins with a full burst. */
const maxRemembered = 10_000;

interface Bucket {
	tokens: number;
	atMs: number;
	leftOut: number;
}

/**
 * Chooses which refused requests are kept: token buckets of each Source, of each account and of the process. So a flood at one
 * Source leaves three quarters of the account's bytes to its other Sources, and costs receive and NATS little.
 */
export class Sample {
	readonly #paces: Paces;
	readonly #all: Bucket;
	readonly #accounts = new Map<string, Bucket>();
	readonly #bytes = new Map<string, Bucket>();
	readonly #sources = new Map<string, Bucket>();
	readonly #sourceBytes = new Map<string, Bucket>();

	constructor(paces = usualPaces) {
		this.#paces = paces;
		this.#all = full(paces.ofAll, 0);
	}

	/**
	 * Returns how many of the Source were left out since the last one that was kept, or undefined to leave this one out.
	 * @param nowMs of a clock that never jumps.
	 */
	take(account: string, sourceKey: string, nowMs: number): number | undefined {
		const { ofSource, ofAccount, ofAll, ofAccountBytes, ofSourceBytes } =
			this.#paces;
		const source = bucketOf(this.#sources, sourceKey, ofSource, nowMs);
		const buckets = [
			source,
			bucketOf(this.#accounts, account, ofAccount, nowMs),
			refilled(this.#all, ofAll, nowMs),
		];
		const bytes = [
			bucketOf(this.#bytes, account, ofAccountBytes, nowMs),
			bucketOf(this.#sourceBytes, sourceKey, ofSourceBytes, nowMs),
		];
		if ([...buckets, ...bytes].some(({ tokens }) => tokens < 1)) {
			source.leftOut++;
			return undefined;
		}
		for (const bucket of buckets) bucket.tokens--;
		const { leftOut } = source;
		source.leftOut = 0;
		return leftOut;
	}

	/** Counts the bytes of a record that was taken: the stream is one for all accounts, and none fills it alone. */
	spend(account: string, sourceKey: string, bytes: number): void {
		for (const bucket of [
			this.#bytes.get(account),
			this.#sourceBytes.get(sourceKey),
		])
			if (bucket) bucket.tokens -= bytes;
	}
}

/** The least recently used ones are forgotten. */
function bucketOf(
	buckets: Map<string, Bucket>,
	name: string,
	pace: Pace,
	nowMs: number,
): Bucket {
	const bucket = buckets.get(name) ?? full(pace, nowMs);
	buckets.delete(name);
	buckets.set(name, bucket);
	if (buckets.size > maxRemembered)
		buckets.delete(buckets.keys().next().value!);
	return refilled(bucket, pace, nowMs);
}

function full({ burst }: Pace, nowMs: number): Bucket {
	return { tokens: burst, atMs: nowMs, leftOut: 0 };
}

function refilled(
	bucket: Bucket,
	{ burst, perSecond }: Pace,
	nowMs: number,
): Bucket {
	const grown = ((nowMs - bucket.atMs) / 1000) * perSecond;
	bucket.tokens = Math.min(burst, bucket.tokens + grown);
	bucket.atMs = nowMs;
	return bucket;
}
