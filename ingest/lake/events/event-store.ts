import type { NatsConnection } from "@nats-io/transport-node";
import type {
	DateFolder,
	SourceName,
} from "../../../packages/bucket/object-keys.ts";
import type {
	ListedObject,
	Store,
} from "../../../packages/bucket/object-store.ts";
import {
	framesSubject,
	maxFrameBytes,
} from "../../../packages/contracts/nats.ts";
import type { EventState } from "../../../packages/contracts/stored-event.ts";
import type { FairLimit } from "../../../packages/fair/fair-limit.ts";
import { readStoredBatch } from "../../../packages/service/nats/stored-batch.ts";
import type { Tombstones } from "../../archive/write/tombstones.ts";
import { aboutKind, perKind } from "../../wire/object-kinds.ts";
import {
	AdditionStore,
	readsAtOnce,
	type StoredAddition,
} from "../addition/addition-store.ts";
import type { Replacements } from "../objects/replacements.ts";
import type { LakeShard } from "../request/lake-shard.ts";
import { requireTurn } from "../request/requirements.ts";
import {
	type ArchivedSource,
	type EventObject,
	SourceObjects,
} from "./date-objects.ts";
import { ObjectReader } from "./object-reader.ts";
import type { FrameMessage, FramesChoice, StoredRow } from "./row.ts";
import type { RowThread } from "./row-thread.ts";

/** What waits of one account's questions. An API process asks no more at once for one caller. */
const maxWaiting = 64;
const catchUpMs = 5_000;
const maxTombstonesAgeMs = 60_000;

export interface EventStoreOptions {
	shard: LakeShard;
	store: Store;
	replaced: Replacements;
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
	readonly additions: AdditionStore;
	readonly reader: ObjectReader;
	readonly #options: EventStoreOptions;

	constructor(options: EventStoreOptions) {
		this.#options = options;
		const { store, thread } = options;
		this.objects = new SourceObjects(store, options.replaced);
		this.additions = new AdditionStore(store);
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
	): AsyncGenerator<StoredAddition[]> {
		const { account } = folder;
		const list = () => this.additions.listed(folder);
		const records = listed ?? (await this.inTurn(account, list));
		for (let at = 0; at < records.length; at += readsAtOnce) {
			const some = records.slice(at, at + readsAtOnce);
			yield await this.inTurn(account, () => this.additions.existing(some));
		}
	}

	/**
	 * Rows of the stream's frames, and the times of the first and the last of them, batch by batch. A batch takes some MiB of
	 * memory, so it is read in the account's turn, and gone with it.
	 */
	async *buffered(
		wanted: Omit<FramesWanted, "shard">,
		choice: FramesChoice,
	): AsyncGenerator<{ rows: StoredRow[]; firstMs?: number; lastMs?: number }> {
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
		return this.#options.shard.doneOf(stream);
	}

	/** The stream's frames in batches of some MiB; those that are archived and purged meanwhile are left out. */
	frames(wanted: Omit<FramesWanted, "shard">): NextFrames {
		const { number: shard, connection } = this.#options.shard;
		return framesOf(connection, { ...wanted, shard });
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
		const { shard } = this.#options;
		const { stream, first, last, bytes, messages } = await shard.end();
		let done = shard.doneOf(stream);
		if (done === undefined || first > done + 1) {
			const signal = AbortSignal.timeout(catchUpMs);
			await shard.archived(stream, first - 1, signal).catch((cause) => {
				throw shard.notReady(cause);
			});
			done = shard.doneOf(stream);
		}
		if (done === undefined) throw shard.notReady();
		const frameBytes = messages > 0 ? bytes / messages : 0;
		return { stream, done, last, frameBytes };
	}
}

/** Its events may be imported ones alone. */
function nothingOf(account: string, sourceKey: string): ArchivedSource {
	return { account, sourceKey, ...perKind(() => new Map()) };
}

/** A frame of the largest size must fit with its headers. */
const batchBytes = maxFrameBytes + 64 * 1024;
const batchFrames = 1_000;

export interface FramesWanted {
	shard: number;
	stream: string;
	/** First sequence. */
	from: number;
	/** Last sequence. */
	to: number;
	/** Only frames since then, by the stream's clock. */
	sinceMs?: number;
}

/** Reads the next frames; they may be none. Undefined at the end. It keeps nothing of what it returned. */
export type NextFrames = () => Promise<FrameMessage[] | undefined>;

/** The stream's frames in batches of some MiB. Frames that are archived and purged meanwhile are left out. */
export function framesOf(
	connection: NatsConnection,
	{ shard, stream, from, to, sinceMs }: FramesWanted,
): NextFrames {
	let place: { seq: number } | { start_time: Date } | undefined =
		sinceMs === undefined
			? { seq: from }
			: { start_time: new Date(Math.max(0, sinceMs)) };
	return async () => {
		if (!place) return undefined;
		const batch = await readStoredBatch(connection, stream, {
			...place,
			batch: batchFrames,
			max_bytes: batchBytes,
			next_by_subj: framesSubject(shard),
		});
		const last = batch.at(-1)?.seq;
		place = last === undefined || last >= to ? undefined : { seq: last + 1 };
		return batch
			.filter(({ seq }) => seq >= from && seq <= to)
			.map(({ seq: sequence, time, data: bytes }) => ({
				sequence,
				timeMs: time.getTime(),
				bytes,
			}));
	};
}

export interface AddedRow {
	/** When the store took the record. */
	timeMs: number;
	/** Key of the object that has the row. */
	key: string;
}

/** Of rows of one object: the state of each, and the addition that made it a row of its date, if one did. */
export async function rowStates(
	events: EventStore,
	{ account, sourceKey }: SourceName,
	object: EventObject,
	rows: readonly StoredRow[],
): Promise<{ state: EventState; added?: AddedRow }[]> {
	if (object.importedMs !== undefined)
		return rows.map(() => ({ state: "imported" }));
	const [state, later] = aboutKind(object.kind).states;
	if (!later) return rows.map(() => ({ state }));
	const folder = { account, sourceKey, date: object.date };
	const found = await addedRows(events, folder, object, rows);
	return rows.map(({ eventID }) => {
		const added = found.get(eventID);
		return added ? { state: later, added } : { state };
	});
}

/** Which of these rows, of one object in quarantine, were released, by event ID. */
async function addedRows(
	events: EventStore,
	folder: DateFolder,
	{ stream, from, first }: Pick<EventObject, "stream" | "from" | "first">,
	rows: readonly StoredRow[],
): Promise<Map<string, AddedRow>> {
	const found = new Map<string, AddedRow>();
	if (rows.length === 0) return found;
	const { account } = folder;
	const times = rows.map(({ timeMs }) => timeMs);
	const choice = {
		fromMs: Math.min(...times),
		toMs: Math.max(...times),
		limit: Infinity,
	};
	const ids = new Set(rows.map(({ eventID }) => eventID));
	const additions = (await Array.fromAsync(events.added(folder))).flat();
	for (const { record, timeMs } of additions) {
		const isOfObject =
			record.stream === stream && record.first <= first && record.last >= from;
		if (!isOfObject) continue;
		const object = await events.inTurn(account, () =>
			events.reader.open(record.key),
		);
		for (const group of object.groups) {
			if (group.toMs < choice.fromMs || group.fromMs > choice.toMs) continue;
			const some = await events.inTurn(account, () =>
				events.reader.rows(object, group, choice),
			);
			for (const { eventID } of some)
				if (ids.has(eventID)) found.set(eventID, { timeMs, key: record.key });
		}
	}
	return found;
}
