import type { CutRecord } from "../../../../ingest/archive/decide/cut.ts";
import type { CutLoss, Loss } from "../../../../ingest/archive/decide/loss.ts";
import { shardOfStream } from "../../../../packages/contracts/nats.ts";
import type {
	PlainRow,
	Sent,
} from "../../../support/senders/persistent-sender.ts";
import { Violation } from "../scene/violation.ts";
import type { StoredFrame } from "../scene/wires/stored-frames.ts";

/** What people are told of events that are lost, and what the wire says that NATS had acknowledged. */
export interface ToldLosses {
	/** All that NATS has acknowledged of the scene's frames. */
	stored: readonly StoredFrame[];
	/** Of the receive process that lives. What it has stored is told exactly. */
	life: number;
	/** With the stream of their cut. */
	losses: readonly { stream: string; loss: Loss }[];
	/** By shard: nobody counts what is lost of the frames that were stored since then, milliseconds since the epoch. */
	unknownSinceMs: ReadonlyMap<number, number>;
}

/** NATS, archive and receive read their clocks one after the other. */
const clocksMs = 1_000;

/** From the cuts of all streams, and the decisions what of a cut is lost. */
export function lossesOf(
	cuts: readonly CutRecord[],
	decided: readonly CutLoss[],
): ToldLosses["losses"] {
	const found = cuts.flatMap(({ stream, losses = [] }) =>
		losses.map((loss) => ({ stream, loss })),
	);
	// Without groups it is decided that the cut has lost nothing.
	const lost = decided.filter(({ loss }) => loss.groups.length > 0);
	return [...found, ...lost.map(({ stream, loss }) => ({ stream, loss }))];
}

/**
 * The same as if the senders of events that are lost, and told to be, had had no answer. Throws a {@link Violation} of a loss
 * that is told and isn't one, or that is told as unknown although receive could say it.
 */
export function withoutTold(
	sent: Sent,
	rows: readonly PlainRow[],
	told: ToldLosses,
): Sent {
	const there = new Set(rows.map(({ event_id }) => event_id));
	verifyLost(told, there);
	const frameOf = new Map<string, StoredFrame>();
	for (const frame of told.stored)
		for (const { id } of frame.events) frameOf.set(id, frame);
	const acknowledged = new Map(sent.acknowledged);
	const unknown = new Set(sent.unknown);
	for (const [id, { digest }] of sent.acknowledged) {
		const frame = frameOf.get(id);
		if (there.has(id) || !frame || !isTold(frame, id, told)) continue;
		acknowledged.delete(id);
		unknown.add(digest);
	}
	return { ...sent, acknowledged, unknown };
}

/** Frames that are counted as lost have been stored, and are in no object. */
function verifyLost(
	{ losses, stored }: ToldLosses,
	there: ReadonlySet<string>,
): void {
	for (const { loss } of losses) {
		if (loss.kind !== "frames") continue;
		const { process, from, to } = loss;
		for (let number = from; number <= to; number++) {
			const name = `frame ${number} of receive process ${process}`;
			const frame = stored.find(
				(each) => each.process === process && each.number === number,
			);
			if (!frame)
				throw new Violation(
					"told",
					`${name} counts as lost, and NATS has never acknowledged it`,
				);
			if (frame.events.some(({ id }) => there.has(id)))
				throw new Violation(
					"told",
					`${name} counts as lost, and its events are in the bucket`,
				);
		}
	}
}

function isTold(frame: StoredFrame, id: string, told: ToldLosses): boolean {
	const { stream, sequence, process, number, events, atMs } = frame;
	const { sourceKey } = events.find((event) => event.id === id)!;
	const isCounted = told.losses.some(({ stream: of, loss }) => {
		const { from, to } = loss;
		if (loss.kind === "frames")
			return loss.process === process && from <= number && number <= to;
		if (of !== stream || sequence < from || sequence > to) return false;
		return (
			loss.kind === "sequences" ||
			loss.groups.some((group) => group.sourceKey === sourceKey)
		);
	});
	if (isCounted) return true;
	const sinceMs = told.unknownSinceMs.get(shardOfStream(stream)!);
	if (sinceMs === undefined || sinceMs > atMs + clocksMs) return false;
	if (frame.life === told.life)
		throw new Violation(
			"told",
			`event ${id} is lost since an unknown time, though the receive process that stored it in frame ${number} lives and can count it`,
		);
	return true;
}
