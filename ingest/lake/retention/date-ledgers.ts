import type {
	DateFolder,
	SourceName,
} from "../../../packages/bucket/object-keys.ts";
import type { Store } from "../../../packages/bucket/object-store.ts";
import { shardOfStream } from "../../../packages/contracts/nats.ts";
import {
	addDays,
	closedThrough,
	type UtcDate,
} from "../../../packages/contracts/utc-date.ts";
import { DateObjects } from "../../archive/ledger/date-objects.ts";
import type { LedgerIndex } from "../../archive/ledger/ledger-index.ts";
import {
	type ObjectKind,
	objectKinds,
	ofKind,
	perKind,
} from "../../wire/object-kinds.ts";
import { RequestFailure } from "../request/errors.ts";
import { requireVersion } from "../request/requirements.ts";

/**
 * A closed date gets its ledger so many days later: until then a clock that was behind, NATS's and receive's, may still bring it
 * events. The index holds it for weeks longer.
 */
const settledDays = 7;

/** As {@link DateObjects.packed} has it. */
type Packed = [stream: string, packed: string][];

/** What the index says of one date. Nothing changes it, since the date was closed. */
interface DateLedger extends SourceName, Record<ObjectKind, Packed> {
	version: 1;
	date: UtcDate;
}

/**
 * What the {@link LedgerIndex} says of the dates that closed a week ago, of sources whose events stay longer than it holds dates, one object
 * for each. Cut records go after a month, and the index's size must not grow with a year's events.
 */
export class DateLedgers {
	readonly #store: Store;

	constructor(store: Store) {
		this.#store = store;
	}

	/**
	 * Writes what is missing. Returns how many. Each names its shard, since a source may have moved, and NATS, which knows, may have lost
	 * everything a minute ago.
	 */
	async keep(
		index: LedgerIndex,
		{
			shard,
			nowMs,
			drainedAt,
			staysLonger,
		}: {
			shard: number;
			/** By the clocks of archive and the store, whichever is earlier. No ledger is ever changed, so NATS's alone closes no date. */
			nowMs: number;
			/** By NATS's clock: all that the shard acknowledged by then is archived. RFC 3339; undefined while something isn't. */
			drainedAt?: string | undefined;
			staysLonger: (source: SourceName) => boolean;
		},
	): Promise<number> {
		// The index knows when the shard's last event came, which in a shard that nobody uses any more was on an open date.
		const through = drainedAt ?? index.archivedThrough;
		if (through === undefined) return 0;
		const closed = closedThrough(Math.min(Date.parse(through), nowMs));
		const settled = addDays(closed, -settledDays);
		let written = 0;
		for (const source of index.sources()) {
			if (!staysLonger(source)) continue;
			const { account, sourceKey } = source;
			const all = objectKinds.flatMap((kind) => [...source[kind].keys()]);
			const dates = [...new Set(all)].sort();
			const [earliest] = dates;
			if (earliest === undefined || earliest > settled) continue;
			const known = new Set<string>();
			const prefix = this.#store.keys.datesOfSource(source);
			// A Source may keep events for ever, and the index holds the last weeks.
			const after = `${prefix}date=${earliest}`;
			for await (const { key } of this.#store.list(prefix, after))
				known.add(key);
			for (const date of dates) {
				const group = { account, sourceKey, date };
				const key = this.#store.keys.ledgerOfDate(group, shard);
				if (date > settled || known.has(key)) continue;
				const ledger: DateLedger = {
					version: 1,
					...group,
					...perKind((kind) => [...(source[kind].get(date)?.packed() ?? [])]),
				};
				const text = JSON.stringify(ledger);
				await this.#store.putNew(key, text, "application/json");
				written++;
			}
		}
		return written;
	}

	/** The dates that have one, ascending. */
	async datesOf(source: SourceName): Promise<UtcDate[]> {
		const dates = new Set<UtcDate>();
		const prefix = this.#store.keys.datesOfSource(source);
		for await (const { key } of this.#store.list(prefix))
			dates.add(/\/date=([\d-]+)\//.exec(key)![1]!);
		return [...dates];
	}

	/**
	 * The objects of all cuts of a date that the index doesn't hold. Throws {@link RequestFailure} LedgerMismatch if there are objects of a
	 * shard and nothing says what they should be: such a date is not empty.
	 */
	async require(group: DateFolder) {
		const prefix = this.#store.keys.ledgersOfDate(group);
		const ledgers: DateLedger[] = [];
		const shards = new Set<number>();
		for await (const { key } of this.#store.list(prefix)) {
			const text = await this.#store.get(key);
			if (text === undefined) continue;
			ledgers.push(requireVersion(JSON.parse(text), `The ledger ${key}`));
			shards.add(shardOfLedger(key));
		}
		await this.#requireNoOthers(group, ledgers, shards);
		return perKind(
			(kind) => () => unpacked(ledgers.flatMap((ledger) => ledger[kind])),
		);
	}

	/**
	 * Throws if the date has objects of a shard whose ledger isn't there. Of those that a compaction has replaced no name is left: the
	 * manifest compares rows with the record's (manifest-objects.ts), unless the ledgers know of no object at all.
	 */
	async #requireNoOthers(
		group: DateFolder,
		ledgers: readonly DateLedger[],
		shards: ReadonlySet<number>,
	): Promise<void> {
		for (const kind of objectKinds) {
			const folder = this.#store.keys.eventsOfDate(ofKind(group, kind));
			const hasObjects = ledgers.some((ledger) => ledger[kind].length > 0);
			for await (const { key } of this.#store.list(folder)) {
				// An output has no shard's name.
				const shard = shardOfStream(key.slice(folder.length));
				if (shard === undefined ? hasObjects : shards.has(shard)) continue;
				throw new RequestFailure(
					"LedgerMismatch",
					"The ledger of a date is gone",
					{
						internals: `There is the object ${key}, and the ledger of that date, ${this.#store.keys.ledgersOfDate(group)}-${shard ?? "*"}.json, is missing`,
					},
				);
			}
		}
	}
}

function shardOfLedger(key: string): number {
	return Number(/-(\d+)\.json$/.exec(key)?.[1]);
}

function unpacked(packed: Packed): DateObjects | undefined {
	return packed.length === 0 ? undefined : DateObjects.unpacked(packed);
}
