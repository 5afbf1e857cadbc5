import type { Store } from "../../packages/bucket/object-store.ts";
import { retainedDays } from "../../packages/contracts/retention.ts";
import { addDays, utcDate } from "../../packages/contracts/utc-date.ts";
import { mapConcurrently } from "../../packages/fair/fair-limit.ts";
import type { Logger } from "../../packages/service/log.ts";
import type { CutGroup, CutRecord } from "./decide/cut.ts";
import type { StreamsLeft } from "./decide/left-frames.ts";
import {
	type CutLoss,
	describeLoss,
	describeUntold,
	type Loss,
} from "./decide/loss.ts";
import { PositionLost } from "./read/frame-queue.ts";
import type { Tombstones } from "./write/tombstones.ts";

/**
 * Settles a cut that this archiver can't finish: decides for all archivers which of its events are lost, if any, and tells
 * the log. Returns that decision; undefined if there is nothing to decide, since the events have expired or are deleted, or
 * the stream still holds their frames.
 * Throws {@link PositionLost} while another archiver may be writing the objects.
 * @param isHeld Whether the stream may hold the cut's frames. Read before this is called.
 */
export async function settleCut(
	cut: CutRecord,
	isHeld: boolean,
	options: {
		shard: number;
		losses: CutLossStore;
		tombstones: Tombstones;
		log: Logger;
		/** NATS's clock, RFC 3339. If it and this process's differ, the earlier one counts: no event is given up for a clock. */
		natsTime: string;
	},
): Promise<CutLoss | undefined> {
	const { shard, losses, tombstones, log, natsTime } = options;
	const { stream, first, last } = cut;
	const nowMs = Math.min(Date.now(), Date.parse(natsTime));
	const expected = expectedGroups(cut, (group) => tombstones.has(group), nowMs);
	if (expected.length === 0) return undefined;
	const missing = await losses.missing(cut, expected);
	const ageMs = nowMs - (await losses.decidedMs(cut));
	const waitedMs = losses.waitedMs(cut);
	const state = stateOfCut({
		missing: missing.length,
		isHeld,
		ageMs,
		waitedMs,
	});
	const name = `the cut of sequences ${first} to ${last} of stream ${stream}`;
	if (state === "awaited")
		throw new PositionLost(
			`NATS has lost ${name}, and another archiver may be writing its objects`,
		);
	if (state === "held") {
		log.error(
			{ shard, stream, first, last },
			`${name} isn't finished, and Runs that need it fail with ObjectMissing. The stream still holds its frames, but the shard has another stream. Delete the stream that was left to give them up, run \`tidemill ledger rebuild\` and restart archive`,
		);
		return undefined;
	}
	const own = lossOf(cut, missing, new Date(nowMs).toISOString());
	const decided = await losses.decide(own);
	if (decided === own && missing.length > 0)
		reportLosses(shard, { stream, losses: [decided.loss] }, log);
	return decided;
}

/** Tells the log. The metric and the ledger follow from the records. */
export function reportLosses(
	shard: number,
	{
		stream,
		losses = [],
		left,
	}: { stream: string; losses?: readonly Loss[]; left?: StreamsLeft },
	log: Logger,
): void {
	for (const untold of left?.untold ?? [])
		log.error({ shard, stream, untold }, `ALARM: ${describeUntold(untold)}`);
	for (const loss of losses)
		log.error(
			{ shard, stream, loss },
			`ALARM: stream ${stream}: ${describeLoss(loss)}. Archive goes on without them`,
		);
}

/**
 * Whether a cut can still get objects that it lacks.
 * - `complete`: it lacks none.
 * - `held`: the stream holds its frames.
 * - `awaited`: an archiver that has read the frames may be writing.
 * - `lost`: nobody has the frames.
 */
export type CutState = "complete" | "held" | "awaited" | "lost";

/** An archiver writes a cut's objects within seconds after its record, and gives up each request after half a minute. */
export const writersMs = 120_000;

/**
 * @param ageMs How long the cut's record has been in the store. Negative if the store's clock is ahead.
 * @param waitedMs How long this process has waited for its objects, by a clock that can't be set.
 */
export function stateOfCut({
	missing,
	isHeld,
	ageMs,
	waitedMs,
}: {
	missing: number;
	isHeld: boolean;
	ageMs: number;
	waitedMs: number;
}): CutState {
	if (missing === 0) return "complete";
	if (isHeld) return "held";
	return Math.max(ageMs, waitedMs) < writersMs ? "awaited" : "lost";
}

/**
 * The groups of a cut that must have objects. Those of deleted sources needn't, and those of dates before the retained
 * ones may have expired.
 */
export function expectedGroups(
	{ groups }: CutRecord,
	isDeleted: (group: CutGroup) => boolean,
	nowMs: number,
): CutGroup[] {
	const oldest = addDays(utcDate(nowMs), -retainedDays);
	return groups.filter((group) => group.date >= oldest && !isDeleted(group));
}

export function lossOf(
	{ stream, first, last }: CutRecord,
	missing: readonly CutGroup[],
	time: string,
): CutLoss {
	const groups = missing.map(({ lastEventTime, ...group }) => group);
	return {
		version: 1,
		stream,
		loss: { kind: "objects", from: first, to: last, groups, time },
	};
}

/** Whether it is decided what the cut has lost. */
export function isSettled(
	{ stream, first }: CutRecord,
	losses: readonly CutLoss[],
): boolean {
	return losses.some(
		({ stream: of, loss }) => of === stream && loss.from === first,
	);
}

/** Whether a stream that has these sequences may hold the cut's frames. */
export function mayHold(
	{ first, last }: CutRecord,
	stream: { firstSequence: number; lastSequence: number } | undefined,
): boolean {
	return (
		stream !== undefined &&
		stream.firstSequence <= first &&
		stream.lastSequence >= last
	);
}

const listsAtOnce = 32;

/** Knows which objects are replaced by others, so that they may be gone. */
export interface ReplacedObjects {
	/** Whether another object of the group's date holds the events of the object with this key. */
	hasReplaced(group: CutGroup, key: string): Promise<boolean>;
}

/** Which objects of cuts are missing, and which of them are given up. */
export class CutLossStore {
	readonly #store: Store;
	readonly #replaced: ReplacedObjects;
	/** Since when each cut has been waited for, by performance.now(). A restart waits anew. */
	readonly #awaited = new Map<string, number>();

	constructor(store: Store, replaced: ReplacedObjects) {
		this.#store = store;
		this.#replaced = replaced;
	}

	/**
	 * Those of the cut's groups whose objects aren't in the store, nor replaced.
	 */
	async missing(
		{ stream, first }: CutRecord,
		groups: readonly CutGroup[],
	): Promise<CutGroup[]> {
		const found = await mapConcurrently(groups, listsAtOnce, async (group) => {
			const key = this.#store.keys.events(group, stream, first);
			if (await this.#first(key)) return true;
			return this.#replaced.hasReplaced(group, key);
		});
		return groups.filter((_, index) => !found[index]);
	}

	/** How long this process has asked for the cut, in milliseconds. */
	waitedMs({ stream, first }: CutRecord): number {
		const key = this.#store.keys.cut(stream, first);
		const nowMs = performance.now();
		const sinceMs = this.#awaited.get(key) ?? nowMs;
		this.#awaited.set(key, sinceMs);
		return nowMs - sinceMs;
	}

	/** When the store took the cut's record, by the store's clock, milliseconds since the epoch. */
	async decidedMs({ stream, first }: CutRecord): Promise<number> {
		const record = await this.#first(this.#store.keys.cut(stream, first));
		if (!record)
			throw new Error(`S3: the cut ${stream}-${first} existed and is gone`);
		return record.modifiedMs;
	}

	/** Writes what is lost of a cut unless that is decided, and returns the record that is in the bucket. */
	async decide(loss: CutLoss): Promise<CutLoss> {
		const key = this.#store.keys.loss(loss.stream, loss.loss.from);
		const text = JSON.stringify(loss);
		const written = await this.#store.putNew(key, text, "application/json");
		return written === "created" ? loss : this.#read(key);
	}

	/** Of all streams that the shard has had. */
	async ofShard(shard: number): Promise<CutLoss[]> {
		const listed = this.#store.list(this.#store.keys.lossesOfShard(shard));
		const keys = await Array.fromAsync(listed, ({ key }) => key);
		return mapConcurrently(keys, listsAtOnce, (key) => this.#read(key));
	}

	async #read(key: string): Promise<CutLoss> {
		const text = await this.#store.get(key);
		if (text === undefined)
			throw new Error(`S3: ${key} existed and is gone. Trying again.`);
		const loss: CutLoss = JSON.parse(text);
		if (loss.version !== 1)
			throw new Error(
				`${key} has version ${loss.version}; this archive knows version 1. Upgrade archive.`,
			);
		return loss;
	}

	async #first(key: string) {
		for await (const object of this.#store.list(key)) return object;
		return undefined;
	}
}
