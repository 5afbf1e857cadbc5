import type { TailPosition } from "../../packages/contracts/live/event-tail.ts";
import { streamName } from "../../packages/contracts/nats.ts";
import { invalidParameter } from "../http/errors.ts";

/** The id of a server-sent event: `<epoch of the shard's stream>.<sequence>.<index>`. No two streams have one epoch. */
export function idOf({
	stream,
	sequence,
	index,
}: Required<TailPosition>): string {
	return `${stream.slice(stream.lastIndexOf("-") + 1)}.${sequence}.${index}`;
}

/**
 * What a client sends back as `Last-Event-ID`. Throws a 400 for anything else. A shard that the event isn't of has no stream of
 * that epoch: archive says that events may be missing, and shows new ones.
 */
export function positionOf(id: string, shard: number): TailPosition {
	const match = /^([0-9a-f]{16})\.(\d{1,15})\.(\d{1,9})$/.exec(id);
	if (!match)
		throw invalidParameter(
			"Last-Event-ID",
			"must be the id of an event of this tail",
			id,
		);
	const [, epoch, sequence, index] = match;
	return {
		stream: streamName(shard, epoch!),
		sequence: Number(sequence),
		index: Number(index),
	};
}
