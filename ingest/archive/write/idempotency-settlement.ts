import { stringify } from "uuid";
import { frameId } from "../../wire/frame.ts";
import type {
	IdempotencyBucket,
	KeptEntry,
} from "../../wire/idempotency-bucket.ts";
import { onStored } from "../../wire/idempotency-entry.ts";
import { mapConcurrently } from "../concurrency/map-concurrently.ts";
import {
	type CutRecord,
	type EventPlace,
	type StoredFrame,
	withoutCopies,
} from "../decide/cut.ts";

const writesAtOnce = 64;

/** An event with an idempotency key. */
interface Copy {
	key: string;
	event: string;
	frame: string;
	place: EventPlace;
}

/** Settles the keys of the cut's frames, which are all read so far. Returns the cut without events that other frames stored. */
export async function withoutRepeats(
	bucket: IdempotencyBucket,
	cut: CutRecord,
	read: readonly StoredFrame[],
): Promise<CutRecord> {
	// More are read while keys are asked for.
	const frames = [...read];
	const copies = await settleKeys(bucket, frames, cut.repeated);
	return withoutCopies(cut, frames, copies);
}

/**
 * Marks the keys of all events in these frames as stored, and returns the places of those that are copies of an event
 * that another frame stored. Before the cut that the frames become: so a key is settled when objects-done has passed
 * its event. `repeated` are sequences of frames that aren't taken.
 */
async function settleKeys(
	bucket: IdempotencyBucket,
	frames: readonly StoredFrame[],
	repeated: readonly number[],
): Promise<EventPlace[]> {
	const copies = copiesIn(frames, new Set(repeated));
	if (copies.length === 0) return [];
	const byKey = Map.groupBy(copies, ({ key }) => key);
	const kept = await bucket.readMany([...byKey.keys()]);
	const dropped: EventPlace[] = [];
	await mapConcurrently([...byKey], writesAtOnce, async ([key, copies]) => {
		let entry = kept.get(key);
		for (const copy of copies) {
			let after = await settle(bucket, copy, entry);
			// Its receiver, or another archiver, has changed the entry meanwhile.
			while (after === "changed") {
				entry = await bucket.read(key);
				after = await settle(bucket, copy, entry);
			}
			if (after === "drop") dropped.push(copy.place);
			else entry = after;
		}
	});
	return dropped.sort(([a, i], [b, j]) => a - b || i - j);
}

/** What stands under the copy's key now, if the copy is to be kept. */
async function settle(
	bucket: IdempotencyBucket,
	{ key, event, frame }: Copy,
	kept: KeptEntry | undefined,
): Promise<KeptEntry | undefined | "drop" | "changed"> {
	const entry = onStored(kept?.entry, event, frame);
	if (entry === "keep") return kept;
	if (entry === "drop") return "drop";
	const revision = await bucket.write(key, entry, kept!.revision);
	return revision === undefined ? "changed" : { entry, revision };
}

function copiesIn(
	frames: readonly StoredFrame[],
	repeated: ReadonlySet<number>,
): Copy[] {
	return frames.flatMap(({ sequence, frame }) => {
		if (repeated.has(sequence)) return [];
		const copies: Copy[] = [];
		for (const [index, { key, id }] of frame.events.entries())
			if (key !== undefined)
				copies.push({
					key,
					event: stringify(id),
					frame: frameId(frame.process, frame.number),
					place: [sequence, index],
				});
		return copies;
	});
}
