import type { NatsConnection } from "@nats-io/transport-node";
import type { FairLimit } from "../../../packages/fair/fair-limit.ts";
import type { LedgerIndex } from "../../archive/ledger/ledger-index.ts";
import type { DateFolder, ObjectKeys } from "../../archive/s3/object-keys.ts";
import type {
	ListedObject,
	ObjectStore,
	PartStore,
} from "../../archive/s3/object-store.ts";
import type { Tombstones } from "../../archive/write/tombstones.ts";
import {
	ReleaseStore,
	readsAtOnce,
	type StoredRelease,
} from "../release/release-store.ts";
import { RequestFailure } from "../request/errors.ts";
import { requireTurn } from "../request/require-turn.ts";
import {
	endOf,
	type FlushableShard,
	internalsOf,
} from "../shards/flush-source.ts";
import { type ArchivedSource, SourceObjects } from "./date-objects.ts";
import { ObjectReader } from "./object-reader.ts";
import type { EventRow } from "./row.ts";
import type { RowThread } from "./row-thread.ts";
import type { FramesChoice } from "./rows/frame-rows.ts";
import {
	type FramesWanted,
	framesOf,
	type NextFrames,
} from "./stream-frames.ts";

/** What waits of one account's questions. An API process asks no more at once for one caller. */
const maxWaiting = 64;
const catchUpMs = 5_000;
const maxTombstonesAgeMs = 60_000;

export interface EventStoreOptions {
	connection: NatsConnection;
	shard: FlushableShard & { readonly index: LedgerIndex };
	store: ObjectStore & PartStore;
	keys: ObjectKeys;
	tombstones: Tombstones;
	/** Of all shards of this process. */
	thread: RowThread;
	/** Of all shards of this process. */
	turns: FairLimit;
}

/** How far a stream is archived, and where it ends. */
export interface StreamEnds {
	stream: string;
	/** What this archive knows of the bucket has all events through this sequence. */
	done: number;
	last: number;
	/** Of a frame, on average. */
	frameBytes: number;
}

/** A shard's events, wherever they are, for questions about them. */
export class EventStore {
	readonly objects: SourceObjects;
	readonly releases: ReleaseStore;
	readonly reader: ObjectReader;
	readonly #options: EventStoreOptions;

	constructor(options: EventStoreOptions) {
		this.#options = options;
		const { store, keys, thread } = options;
		this.objects = new SourceObjects(store, keys);
		this.releases = new ReleaseStore(store, keys);
		this.reader = new ObjectReader(store, thread);
	}

	get options(): EventStoreOptions {
		return this.#options;
	}

	/** What of a source was received and is in the bucket. */
	archived(account: string, sourceKey: string): ArchivedSource {
		const { index } = this.#options.shard;
		return index.source(account, sourceKey) ?? nothingOf(account, sourceKey);
	}

	/**
	 * A piece of work in the account's turn: what one account asks takes two objects' time from another, however much it is.
	 * Throws {@link RequestFailure} ArchiveBusy if too much of the account's work waits.
	 */
	inTurn<T>(account: string, work: () => Promise<T>): Promise<T> {
		const { turns } = this.#options;
		requireTurn(turns, account, maxWaiting, "questions about events");
		return turns.run(account, work);
	}

	/**
	 * The records of Releases and Imports of a date, a few in each of the account's turns. One that is deleted meanwhile is
	 * left out: its events are gone.
	 * @param listed those that are known of.
	 */
	async *added(
		folder: DateFolder,
		listed?: readonly ListedObject[],
	): AsyncGenerator<StoredRelease[]> {
		const { account } = folder;
		const list = () => this.releases.listed(folder);
		const records = listed ?? (await this.inTurn(account, list));
		for (let at = 0; at < records.length; at += readsAtOnce) {
			const some = records.slice(at, at + readsAtOnce);
			yield await this.inTurn(account, () => this.releases.existing(some));
		}
	}

	/**
	 * Rows of the stream's frames, and the times of the first and the last of them, batch by batch. A batch takes some MiB of
	 * memory, so it is read in the account's turn, and gone with it.
	 */
	async *buffered(
		wanted: Omit<FramesWanted, "shard">,
		choice: FramesChoice,
	): AsyncGenerator<{ rows: EventRow[]; firstMs?: number; lastMs?: number }> {
		const { thread } = this.#options;
		const next = this.frames(wanted);
		for (;;) {
			const batch = await this.inTurn(choice.account, async () => {
				const frames = await next();
				if (!frames?.length) return frames && { rows: [] };
				const [firstMs, lastMs] = [frames[0]!.timeMs, frames.at(-1)!.timeMs];
				return { rows: await thread.rows({ frames, choice }), firstMs, lastMs };
			});
			if (!batch) return;
			yield batch;
		}
	}

	/** Through which sequence a stream is archived by now; undefined if this archive doesn't know. */
	doneOf(stream: string): number | undefined {
		return this.#options.shard.flushes.doneOf(stream);
	}

	/** The stream's frames in batches of some MiB; those that are archived and purged meanwhile are left out. */
	frames(wanted: Omit<FramesWanted, "shard">): NextFrames {
		const { connection, shard } = this.#options;
		return framesOf(connection, { ...wanted, shard: shard.number });
	}

	/** Those that aren't deleted. */
	async existing(
		account: string,
		sourceKeys: readonly string[],
	): Promise<string[]> {
		const { tombstones } = this.#options;
		await tombstones.refresh(maxTombstonesAgeMs);
		return sourceKeys.filter(
			(sourceKey) => !tombstones.has({ account, sourceKey }),
		);
	}

	/**
	 * Throws {@link RequestFailure} ShardNotReady. It waits some seconds while the shard starts, and, if this archive stands by
	 * for another one, until it knows that one's cuts.
	 */
	async ends(): Promise<StreamEnds> {
		const { connection, shard } = this.#options;
		const { stream, last, state } = await endOf(connection, shard);
		const { first_seq: first, bytes, messages } = state;
		let done = shard.flushes.doneOf(stream);
		if (done === undefined || first > done + 1) {
			const signal = AbortSignal.timeout(catchUpMs);
			await shard.flushes.wait(stream, first - 1, signal).catch((cause) => {
				throw notReady(shard, cause);
			});
			done = shard.flushes.doneOf(stream);
		}
		if (done === undefined) throw notReady(shard);
		const frameBytes = messages > 0 ? bytes / messages : 0;
		return { stream, done, last, frameBytes };
	}
}

/** Its events may be imported ones alone. */
function nothingOf(account: string, sourceKey: string): ArchivedSource {
	return { account, sourceKey, objects: new Map(), quarantined: new Map() };
}

function notReady(shard: FlushableShard, cause?: unknown): RequestFailure {
	return new RequestFailure(
		"ShardNotReady",
		`Shard ${shard.number} isn't ready`,
		{ cause, ...internalsOf(shard) },
	);
}
