import { RecentOwners } from "../../../packages/fair/recent.ts";
import type { TokenRate } from "../../../packages/fair/token-bucket.ts";

interface RefusalRates {
	ofSource: TokenRate;
	ofAccount: TokenRate;
	ofAll: TokenRate;
	/** Bytes of records. */
	ofAccountBytes: TokenRate;
	ofSourceBytes: TokenRate;
}

/** A debugging person sends few; a flood shows itself in the first ones. */
export const usualRates: RefusalRates = {
	ofSource: { burst: 20, perSecond: 0.2 },
	ofAccount: { burst: 40, perSecond: 0.5 },
	ofAll: { burst: 100, perSecond: 20 },
	ofAccountBytes: { burst: 96 * 1024, perSecond: 6 },
	ofSourceBytes: { burst: 24 * 1024, perSecond: 1.5 },
};

/** Each limits by itself. With so many, an account has an eighth of the stream at most. The chart's values say so. */
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
export class RefusalRateLimit {
	readonly #rates: RefusalRates;
	readonly #all: Use;
	readonly #accounts = newUses();
	readonly #bytes = newUses();
	readonly #sources = newUses();
	readonly #sourceBytes = newUses();

	constructor(rates = usualRates) {
		this.#rates = rates;
		this.#all = newUse();
	}

	/**
	 * Returns how many of the Source were left out since the last one that was kept, or undefined to leave this one out.
	 * @param nowMs of a clock that never jumps.
	 */
	take(account: string, sourceKey: string, nowMs: number): number | undefined {
		const { ofSource, ofAccount, ofAll, ofAccountBytes, ofSourceBytes } =
			this.#rates;
		const source = faded(this.#sources.of(sourceKey), ofSource, nowMs);
		const shared = faded(this.#accounts.of(account), ofAccount, nowMs);
		const bytes = faded(this.#sourceBytes.of(sourceKey), ofSourceBytes, nowMs);
		const sharedBytes = faded(this.#bytes.of(account), ofAccountBytes, nowMs);
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
			this.#bytes.of(account),
			this.#sourceBytes.of(sourceKey),
		])
			use.amount += bytes;
	}
}

const newUse = (): Use => ({ amount: 0, atMs: 0, leftOut: 0 });
const newUses = () => new RecentOwners(maxRemembered, newUse);

/** A full burst fades at the rate, and less of it more slowly: so what Sources have used always adds up to their account's. */
function faded(use: Use, { burst, perSecond }: TokenRate, nowMs: number): Use {
	const paid = ((nowMs - use.atMs) / 1000) * perSecond;
	// What is beyond a burst fades at the rate, too: no more than that is ever given back.
	const beyond = Math.min(paid, Math.max(0, use.amount - burst));
	use.amount = (use.amount - beyond) * Math.exp((beyond - paid) / burst);
	use.atMs = nowMs;
	return use;
}

function leaves({ amount }: Use, { burst }: TokenRate): number {
	return burst - amount;
}
