import type { DateFolder } from "../../../packages/bucket/object-keys.ts";
import { aboutKind, kindOf } from "../../wire/object-kinds.ts";
import type { UntoldStream } from "./left-frames.ts";

/**
 * Frames whose senders were told that they are stored, and that can't come back. Archive reports them and goes on without
 * them: to stop would lose more.
 */
export type Loss = FramesLost | SequencesLost | ObjectsLost;

/** Numbers from..to of one receive process never arrived and weren't voided. */
export interface FramesLost extends FoundLoss {
	kind: "frames";
	process: string;
	/** They were stored in this earlier stream of the shard, which is gone, between `since` and `time`. */
	stream?: string;
	/** RFC 3339. */
	since?: string;
}

/** The stream lost its sequences from..to before they were archived. */
export interface SequencesLost extends FoundLoss {
	kind: "sequences";
}

/** Sequences from..to became a cut, and went before all its objects were written. The groups are those without an object. */
export interface ObjectsLost extends FoundLoss {
	kind: "objects";
	groups: LostGroup[];
}

/**
 * The decision which events of a cut are lost, since nobody can write their objects any more. Each cut has at most one
 * (`If-None-Match: *`), so all archivers and rebuilds count the same, also if an object comes or goes afterwards. The cut's
 * other groups count as before.
 */
export interface CutLoss {
	version: 1;
	stream: string;
	/** `from` and `to` are the cut's first and last sequence. Without groups, nothing is lost. */
	loss: ObjectsLost;
}

/** Events of one source and date. */
export interface LostGroup extends DateFolder {
	rows: number;
}

interface FoundLoss {
	from: number;
	to: number;
	/**
	 * When archive found it, RFC 3339; of frames, when they were due by the stream's time, and of those that are lost with
	 * their stream when receive had stored the last of them.
	 */
	time: string;
}

/** The log has all groups; its message names so many. */
const namedGroups = 20;

/** How many frames a loss is. */
export function framesOf({ from, to }: Loss): number {
	return to - from + 1;
}

/** What a person reads about a loss. */
export function describeLoss(loss: Loss): string {
	const { from, to, time } = loss;
	switch (loss.kind) {
		case "frames":
			if (loss.stream)
				return `frames ${from} to ${to} of receive process ${loss.process} were lost with stream ${loss.stream}; they were stored between ${loss.since} and ${time}`;
			return `frames ${from} to ${to} of receive process ${loss.process} never arrived and weren't voided; they were due at ${time}`;
		case "sequences":
			return `sequences ${from} to ${to} are gone from the stream and weren't archived; found at ${time}`;
		case "objects":
			return `sequences ${from} to ${to} are gone, and of their cut the bucket lacks ${describeGroups(loss.groups)}; found at ${time}`;
	}
}

/** What a person reads about a stream that is gone, of which nobody can say how much was in it. */
export function describeUntold({
	stream,
	since,
}: Pick<UntoldStream, "stream" | "since">): string {
	return `stream ${stream} is gone or left, and it is unknown how many frames it held that were stored since ${since}`;
}

function describeGroups(groups: readonly LostGroup[]): string {
	const named = groups
		.slice(0, namedGroups)
		.map(
			({ account, sourceKey, date, rows, ...mark }) =>
				`${rows} ${rows === 1 ? "event" : "events"} of source ${sourceKey} (account ${account}) on ${date}${aboutKind(kindOf(mark)).words}`,
		);
	const more = groups.length - named.length;
	if (more > 0) named.push(`those of ${more} more sources and dates`);
	return named.join(", ");
}
