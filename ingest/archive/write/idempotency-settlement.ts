import {
	DiscardPolicy,
	jetstreamManager,
	RetentionPolicy,
	StorageType,
} from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { stringify } from "uuid";
import { bucket } from "../../../packages/contracts/nats.ts";
import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import {
	isNoRoom,
	isStreamNotFound,
} from "../../../packages/service/nats/connection.ts";
import { frameId } from "../../wire/frame.ts";
import {
	entryKey,
	IdempotencyBucket,
	idempotencyStream,
	type KeptEntry,
	keyHeadroom,
} from "../../wire/idempotency-bucket.ts";
import { onStored } from "../../wire/idempotency-entry.ts";
import {
	type CutRecord,
	type EventPlace,
	type StreamFrame,
	withoutCopies,
} from "../decide/cut.ts";

const writesAtOnce = 64;

/** An event with an idempotency key: the first with that key, or a repeat. */
interface Copy {
	/** {@link entryKey} */
	key: string;
	event: string;
	frame: string;
	place: EventPlace;
	sourceKey: string;
}

/** NATS has no room to settle the keys of the frames from this one on. A cut of those before it makes some. */
export class NoRoomForKeys extends Error {
	override name = "NoRoomForKeys";
	readonly sequence: number;

	constructor(sequence: number, cause: unknown) {
		super(
			`JetStream has no room for the idempotency keys of sequence ${sequence}; raise its max_file_store, or the account's limit`,
			{ cause },
		);
		this.sequence = sequence;
	}
}

/**
 * Settles the keys of the cut's frames, which are all frames read so far. Returns the cut without repeated events.
 * Throws {@link NoRoomForKeys}.
 */
export async function withoutRepeats(
	bucket: IdempotencyBucket,
	cut: CutRecord,
	read: readonly StreamFrame[],
): Promise<CutRecord> {
	// The queue grows while keys are read.
	const frames = [...read];
	const copies = await settleKeys(bucket, frames, cut.repeated);
	return withoutCopies(cut, frames, copies);
}

/**
 * Marks the keys of all events in these frames as stored, and returns the places of the events that repeat an event of
 * another frame. This happens before the cut, so a key is settled when objects-done has passed its event. `repeated` are
 * the sequences of frames that are left out.
 * @param sourceKey Only the keys of this source's events. Another source of the account may have one of them, too.
 */
export async function settleKeys(
	bucket: IdempotencyBucket,
	frames: readonly StreamFrame[],
	repeated: readonly number[],
	sourceKey?: string,
): Promise<EventPlace[]> {
	const all = copiesIn(frames, new Set(repeated));
	const byKey = Map.groupBy(all, ({ key }) => key);
	if (sourceKey !== undefined)
		for (const [key, copies] of byKey)
			if (!copies.some((copy) => copy.sourceKey === sourceKey))
				byKey.delete(key);
	if (byKey.size === 0) return [];
	const kept = await bucket.readMany([...byKey.keys()]);
	const dropped: EventPlace[] = [];
	let unsettled: NoRoomForKeys | undefined;
	await mapConcurrently([...byKey], writesAtOnce, async ([key, copies]) => {
		let entry = kept.get(key);
		for (const copy of copies) {
			const [sequence] = copy.place;
			if (unsettled && unsettled.sequence <= sequence) return;
			try {
				let after = await settle(bucket, copy, entry);
				// Receive or another archiver has changed the entry meanwhile.
				while (after === "changed") {
					entry = await bucket.read(key);
					after = await settle(bucket, copy, entry);
				}
				if (after === "drop") dropped.push(copy.place);
				else entry = after;
			} catch (error) {
				if (!isNoRoom(error)) throw error;
				if (!unsettled || sequence < unsettled.sequence)
					unsettled = new NoRoomForKeys(sequence, error);
				return;
			}
		}
	});
	if (unsettled) throw unsettled;
	return dropped.sort(([a, i], [b, j]) => a - b || i - j);
}

/** The entry of the copy's key after the copy is kept; "drop" for a repeat, "changed" if another write came first. */
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
	frames: readonly StreamFrame[],
	repeated: ReadonlySet<number>,
): Copy[] {
	return frames.flatMap(({ sequence, frame }) => {
		if (repeated.has(sequence)) return [];
		const copies: Copy[] = [];
		for (let index = 0; index < frame.events.length; index++) {
			const { account, sourceKey, key, id } = frame.events[index]!;
			// Most have none.
			if (key === undefined) continue;
			copies.push({
				key: entryKey(account, key),
				event: stringify(id),
				frame: frameId(frame.process, frame.number),
				place: [sequence, index],
				sourceKey,
			});
		}
		return copies;
	});
}

export interface KeySettings {
	/** The most idempotency keys that are kept at a time. */
	maxKeys: number;
	replicas: number;
}

const timeoutMs = 5_000;

/**
 * Opens the idempotency bucket, created or updated to these settings. The KV client can't create it: it adds a marker
 * message for each expired entry (ADR-48), and can't limit the number of entries.
 */
export async function openKeyBucket(
	connection: NatsConnection,
	{ maxKeys, replicas }: KeySettings,
): Promise<IdempotencyBucket> {
	const { streams } = await jetstreamManager(connection, { checkAPI: false });
	const bounds = { max_msgs: maxKeys + keyHeadroom, num_replicas: replicas };
	const found = await streams.info(idempotencyStream).catch((error) => {
		if (!isStreamNotFound(error)) throw error;
		return undefined;
	});
	if (!found)
		await streams.add({
			name: idempotencyStream,
			description: "Idempotency keys of senders, by account and digest",
			subjects: [`$KV.${bucket.idempotency}.>`],
			storage: StorageType.File,
			retention: RetentionPolicy.Limits,
			discard: DiscardPolicy.New,
			max_msgs_per_subject: 1,
			allow_direct: true,
			allow_msg_ttl: true,
			...bounds,
		});
	else if (
		found.config.max_msgs !== bounds.max_msgs ||
		found.config.num_replicas !== bounds.num_replicas
	)
		await streams.update(idempotencyStream, bounds).catch((error) => {
			// A full JetStream takes no new settings either. Archive makes room with the earlier ones.
			if (!isNoRoom(error)) throw error;
		});
	return IdempotencyBucket.open(connection, timeoutMs);
}
