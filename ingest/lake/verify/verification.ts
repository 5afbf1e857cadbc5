import {
	addedFolder,
	type SourceName,
} from "../../../packages/bucket/object-keys.ts";
import type {
	ListedObject,
	Store,
} from "../../../packages/bucket/object-store.ts";
import { shardOfStream } from "../../../packages/contracts/nats.ts";
import { keptFrom } from "../../../packages/contracts/retention.ts";
import { type UtcDate, utcDate } from "../../../packages/contracts/utc-date.ts";
import { mapInOrder } from "../../../packages/fair/fair-limit.ts";
import type { IndexedObject } from "../../archive/ledger/date-objects.ts";
import { nameOfSource } from "../../archive/ledger/ledger-index.ts";
import type { Tombstones } from "../../archive/write/tombstones.ts";
import {
	aboutKind,
	type ObjectKind,
	objectKinds,
	ofKind,
} from "../../wire/object-kinds.ts";
import { nameIn } from "../../wire/object-name.ts";
import { AdditionStore } from "../addition/addition-store.ts";
import {
	AcceptedLosses,
	folderOfDate,
	keyOf,
	type NamedObject,
	type SourceDate,
} from "../missing/accepted-losses.ts";
import {
	objectsOfShards,
	type Replacements,
	replacedNames,
} from "../objects/replacements.ts";
import { RequestFailure } from "../request/errors.ts";
import { DateLedgers } from "../retention/date-ledgers.ts";
import {
	type RetentionRecord,
	RetentionStore,
} from "../retention/source-retention.ts";
import type { CountedShard } from "./counted-shard.ts";

/** What the bucket has of a date, and what it should have. */
export interface FolderFindings extends SourceDate {
	folder: string;
	/** Of objects that count and are there. */
	objects: number;
	rows: number;
	/** No object is there, and nobody has accepted that. */
	missing: NamedObject[];
	accepted: NamedObject[];
	/** Names of objects that no record tells of, so that no Run loads them. */
	unrecorded: string[];
	/** Why nobody knows what there should be. */
	problem?: string;
}

/** Each takes a request or a few, and memory for the names of its objects. */
const foldersAtOnce = 8;

/**
 * Compares what the bucket has with what the records say, for all dates that Runs may load. Memory holds the shards' ledgers and the names
 * of a few dates' objects. What others write or remove meanwhile is no difference: what seems to be missing is looked for once more.
 */
export class Verification {
	readonly #store: Store;
	readonly #tombstones: Tombstones;
	readonly #shards: ReadonlyMap<number, CountedShard>;
	readonly #retentions: ReadonlyMap<string, RetentionRecord>;
	readonly #now: () => number;
	readonly #replaced: Replacements;
	readonly #dateLedgers: DateLedgers;
	readonly #additions: AdditionStore;
	readonly #accepted: AcceptedLosses;
	readonly #cutStreams = new Map<string, boolean>();

	private constructor(
		{
			store,
			tombstones,
			replaced,
			shards,
			now = Date.now,
		}: VerificationOptions,
		retentions: ReadonlyMap<string, RetentionRecord>,
	) {
		this.#store = store;
		this.#tombstones = tombstones;
		this.#shards = new Map(shards.map((shard) => [shard.number, shard]));
		this.#retentions = retentions;
		this.#now = now;
		this.#replaced = replaced;
		this.#dateLedgers = new DateLedgers(store);
		this.#additions = new AdditionStore(store);
		this.#accepted = new AcceptedLosses(store);
	}

	static async open(options: VerificationOptions): Promise<Verification> {
		const kept = await new RetentionStore(options.store).all();
		return new Verification(
			options,
			new Map(kept.map(({ record }) => [nameOfSource(record), record])),
		);
	}

	/** Of all sources: of the shards' dates, of older dates, and of what was released or imported. */
	async *all(): AsyncGenerator<FolderFindings> {
		const { keys } = this.#store;
		const known = new Map<string, SourceName>();
		for (const { index } of this.#shards.values())
			for (const source of index.sources())
				known.set(nameOfSource(source), source);
		for (const record of this.#retentions.values())
			known.set(nameOfSource(record), record);
		for (const kind of objectKinds) {
			const prefix = keys.allEvents(ofKind({}, kind));
			yield* this.#ofKind(kind, prefix, known.values());
		}
		for await (const source of this.#additions.sources())
			yield* this.#added(source);
	}

	async *ofSource(source: SourceName): AsyncGenerator<FolderFindings> {
		for (const kind of objectKinds) {
			const prefix = this.#store.keys.eventsOfSource(ofKind(source, kind));
			yield* this.#ofKind(kind, prefix, [source]);
		}
		yield* this.#added(source);
	}

	async *#ofKind(
		kind: ObjectKind,
		prefix: string,
		known: Iterable<SourceName>,
	): AsyncGenerator<FolderFindings> {
		const compared = mapInOrder(
			this.#folders(kind, prefix, known),
			foldersAtOnce,
			({ names, ...dated }) => this.#compare(kind, dated, names),
		);
		for await (const found of compared) if (found) yield found;
	}

	/** @param known sources. Those whose folders have nothing at all may lack everything. */
	async *#folders(
		kind: ObjectKind,
		prefix: string,
		known: Iterable<SourceName>,
	): AsyncGenerator<ListedFolder> {
		const unseen = new Map<string, SourceName>();
		for (const source of known) unseen.set(nameOfSource(source), source);
		let source: SourceName | undefined;
		let dates = new Set<UtcDate>();
		for await (const folder of dateFolders(this.#store.list(prefix))) {
			if (!source || nameOfSource(source) !== nameOfSource(folder)) {
				if (source) yield* emptyFolders(source, dates);
				const { account, sourceKey } = folder;
				source = { account, sourceKey };
				dates = await this.#datesOf(kind, source);
				unseen.delete(nameOfSource(source));
			}
			dates.delete(folder.date);
			yield folder;
		}
		if (source) yield* emptyFolders(source, dates);
		for (const { account, sourceKey } of unseen.values()) {
			const source = { account, sourceKey };
			yield* emptyFolders(source, await this.#datesOf(kind, source));
		}
	}

	/** The dates that the ledgers know. */
	async #datesOf(kind: ObjectKind, source: SourceName): Promise<Set<UtcDate>> {
		const { account, sourceKey } = source;
		const dates = new Set<UtcDate>();
		for (const { index } of this.#shards.values())
			for (const date of index.source(account, sourceKey)?.[kind].keys() ?? [])
				dates.add(date);
		if (this.#retentions.has(nameOfSource(source)))
			for (const date of await this.#dateLedgers.datesOf(source))
				dates.add(date);
		return dates;
	}

	#isKept(dated: SourceDate): boolean {
		const today = utcDate(this.#now());
		const record = this.#retentions.get(nameOfSource(dated));
		return (
			dated.date >= keptFrom(record, today) && !this.#tombstones.has(dated)
		);
	}

	/** Undefined of a date that no Run loads. */
	async #compare(
		kind: ObjectKind,
		dated: SourceDate,
		listed: ReadonlySet<string>,
	): Promise<FolderFindings | undefined> {
		if (!this.#isKept(dated)) return undefined;
		const { keys } = this.#store;
		const group = ofKind(dated, kind);
		const { folder } = aboutKind(kind);
		const prefix = folderOfDate(keys, dated, folder);
		const nameOf = ({ stream, first }: IndexedObject) =>
			nameIn(keys.events(group, stream, first));
		const base = { ...dated, folder, objects: 0, rows: 0 };
		const none = { missing: [], accepted: [], unrecorded: [] };
		const isOlder = dated.date < keptFrom(undefined, utcDate(this.#now()));
		let objects: IndexedObject[];
		try {
			objects = isOlder
				? [...((await this.#dateLedgers.require(dated))[kind]() ?? [])]
				: this.#indexed(kind, dated);
		} catch (error) {
			if (!(error instanceof RequestFailure)) throw error;
			return { ...base, ...none, problem: error.internals ?? error.message };
		}
		// What replaces objects is written before what says so, and removes nothing for a day.
		const record = await this.#replaced.of(group);
		const isOwn = (name: string) =>
			isOlder || this.#shards.has(shardOfStream(name) ?? -1);
		const wanted = objectsOfShards(isOwn, objects, nameOf, record);
		const there = wanted.filter(({ name }) => listed.has(name));
		const absent = await this.#stillAbsent(
			prefix,
			wanted.filter(({ name }) => !listed.has(name)),
		);
		if (!this.#isKept(dated)) return undefined;
		const known = new Set(objects.map(nameOf)).union(replacedNames(record));
		const unrecorded = [];
		for (const name of listed)
			if (!known.has(name) && !isOlder && (await this.#isUnrecorded(name)))
				unrecorded.push(name);
		return {
			...base,
			objects: there.length,
			rows: there.reduce((sum, { rows }) => sum + rows, 0),
			...(await this.#sorted(
				dated,
				absent.map(({ name, rows }) => ({ folder, name, rows })),
			)),
			unrecorded,
		};
	}

	#indexed(kind: ObjectKind, { account, sourceKey, date }: SourceDate) {
		return [...this.#shards.values()].flatMap(({ index }) => [
			...(index.source(account, sourceKey)?.[kind].get(date) ?? []),
		]);
	}

	async #stillAbsent<T extends { name: string }>(
		prefix: string,
		absent: readonly T[],
	): Promise<readonly T[]> {
		if (absent.length === 0) return absent;
		await this.#tombstones.refresh();
		const names = new Set<string>();
		for await (const { key } of this.#store.list(prefix))
			names.add(key.slice(prefix.length));
		return absent.filter(({ name }) => !names.has(name));
	}

	/** Whether a cut of these shards has made it, and no record of that cut is there. */
	async #isUnrecorded(name: string): Promise<boolean> {
		const [, stream, first] = /^(.+)-(\d{20})\.parquet$/.exec(name) ?? [];
		if (stream === undefined) return false;
		const shard = this.#shards.get(shardOfStream(stream) ?? -1);
		if (!shard) return false;
		const newest = shard.index.newestOfStream.get(stream);
		if (newest) return Number(first) <= newest.first;
		// A stream whose cuts came after the ledger was read.
		let hasCuts = this.#cutStreams.get(stream);
		if (hasCuts === undefined) {
			const cuts = this.#store.list(this.#store.keys.cutsOfStream(stream));
			hasCuts = !(await cuts[Symbol.asyncIterator]().next()).done;
			this.#cutStreams.set(stream, hasCuts);
		}
		return !hasCuts;
	}

	/** What was released or imported. */
	async *#added(source: SourceName): AsyncGenerator<FolderFindings> {
		const found = await this.#additions.ofSource(source);
		for (const [date, { records, bytesOf }] of found) {
			const dated = { ...source, date };
			if (records.length === 0 || !this.#isKept(dated)) continue;
			const named = (await this.#additions.existing(records)).map(
				({ record: { key, rows } }) => ({ name: nameIn(key), rows, key }),
			);
			const folder = addedFolder;
			const prefix = folderOfDate(this.#store.keys, dated, folder);
			const absent = await this.#stillAbsent(
				prefix,
				named.filter(({ key }) => !bytesOf.has(key)),
			);
			if (!this.#isKept(dated)) continue;
			const gone = new Set(absent);
			const there = named.filter((one) => !gone.has(one));
			yield {
				...dated,
				folder,
				objects: there.length,
				rows: there.reduce((sum, { rows }) => sum + rows, 0),
				...(await this.#sorted(
					dated,
					absent.map(({ name, rows }) => ({ folder, name, rows })),
				)),
				unrecorded: [],
			};
		}
	}

	async #sorted(
		dated: SourceDate,
		absent: readonly NamedObject[],
	): Promise<Pick<FolderFindings, "missing" | "accepted">> {
		if (absent.length === 0) return { missing: [], accepted: [] };
		const isAccepted = await this.#accepted.of(dated);
		const { keys } = this.#store;
		const { accepted = [], missing = [] } = Object.groupBy(absent, (object) =>
			isAccepted(keyOf(keys, dated, object)) ? "accepted" : "missing",
		);
		return { accepted, missing };
	}
}

export interface VerificationOptions {
	store: Store;
	tombstones: Tombstones;
	replaced: Replacements;
	/** Objects of other shards are left out. */
	shards: readonly CountedShard[];
	now?: () => number;
}

interface ListedFolder extends SourceDate {
	names: Set<string>;
}

function* emptyFolders(
	source: SourceName,
	dates: ReadonlySet<UtcDate>,
): Generator<ListedFolder> {
	for (const date of dates) yield { ...source, date, names: new Set() };
}

/** The folders of dates in a listing, which is in the order of keys. */
async function* dateFolders(
	listed: AsyncIterable<ListedObject>,
): AsyncGenerator<ListedFolder> {
	let last = "";
	let open: ListedFolder | undefined;
	for await (const { key } of listed) {
		const end = key.lastIndexOf("/") + 1;
		const folder = key.slice(0, end);
		if (folder !== last) {
			if (open) yield open;
			last = folder;
			const [, account, sourceKey, date] =
				/\/account=([^/]+)\/source=([^/]+)\/date=([^/]+)\/$/.exec(folder) ?? [];
			open =
				account && sourceKey && date
					? { account, sourceKey, date, names: new Set() }
					: undefined;
		}
		open?.names.add(key.slice(end));
	}
	if (open) yield open;
}
