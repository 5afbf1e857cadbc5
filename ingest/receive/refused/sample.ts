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

interface Use {
	amount: number;
	atMs: number;
	leftOut: number;
}

/**
 * Chooses which refused requests are kept, by what each Source, each account and the process have used. So a flood at one Source
 * leaves three quarters of the account's bytes to its other Sources, and costs receive and NATS little. A Source leaves at least
 * as much as it uses itself: n flooding ones have equal shares and leave one more (Choudhury and Hahne, "Dynamic queue length
 * thresholds", 1998).
 */
export class Sample {
	readonly #paces: Paces;
	readonly #all: Use;
	readonly #accounts = new Map<string, Use>();
	readonly #bytes = new Map<string, Use>();
	readonly #sources = new Map<string, Use>();
	readonly #sourceBytes = new Map<string, Use>();

	constructor(paces = usualPaces) {
		this.#paces = paces;
		this.#all = { amount: 0, atMs: 0, leftOut: 0 };
	}

	/**
	 * Returns how many of the Source were left out since the last one that was kept, or undefined to leave this one out.
	 * @param nowMs of a clock that never jumps.
	 */
	take(account: string, sourceKey: string, nowMs: number): number | undefined {
		const { ofSource, ofAccount, ofAll, ofAccountBytes, ofSourceBytes } =
			this.#paces;
		const source = useOf(this.#sources, sourceKey, ofSource, nowMs);
		const shared = useOf(this.#accounts, account, ofAccount, nowMs);
		const bytes = useOf(this.#sourceBytes, sourceKey, ofSourceBytes, nowMs);
		const sharedBytes = useOf(this.#bytes, account, ofAccountBytes, nowMs);
		const all = faded(this.#all, ofAll, nowMs);
		const hasRoom =
			leaves(source, ofSource) >= 1 &&
			leaves(bytes, ofSourceBytes) >= 1 &&
			leaves(shared, ofAccount) >= Math.max(1, source.amount) &&
			leaves(sharedBytes, ofAccountBytes) >= Math.max(1, bytes.amount) &&
			leaves(all, ofAll) >= 1;
		if (!hasRoom) {
			source.leftOut++;
			return undefined;
		}
		for (const use of [source, shared, all]) use.amount++;
		const { leftOut } = source;
		source.leftOut = 0;
		return leftOut;
	}

	/** Counts the bytes of a record that was taken: the stream is one for all accounts, and none fills it alone. */
	spend(account: string, sourceKey: string, bytes: number): void {
		for (const use of [
			this.#bytes.get(account),
			this.#sourceBytes.get(sourceKey),
		])
			if (use) use.amount += bytes;
	}
}

/** The least recently used ones are forgotten. */
function useOf(
	uses: Map<string, Use>,
	name: string,
	pace: Pace,
	nowMs: number,
): Use {
	const use = uses.get(name) ?? { amount: 0, atMs: nowMs, leftOut: 0 };
	uses.delete(name);
	uses.set(name, use);
	if (uses.size > maxRemembered) uses.delete(uses.keys().next().value!);
	return faded(use, pace, nowMs);
}

/** A full burst fades at the pace, and less of it more slowly: so what Sources have used always adds up to their account's. */
function faded(use: Use, { burst, perSecond }: Pace, nowMs: number): Use {
	const paid = ((nowMs - use.atMs) / 1000) * perSecond;
	// What is beyond a burst fades at the pace, too: no more than that is ever given back.
	const beyond = Math.min(paid, Math.max(0, use.amount - burst));
	use.amount = (use.amount - beyond) * Math.exp((beyond - paid) / burst);
	use.atMs = nowMs;
	return use;
}

function leaves({ amount }: Use, { burst }: Pace): number {
	return burst - amount;
}
