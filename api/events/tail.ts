import { finished } from "node:stream";
import type { TailPosition } from "../../packages/contracts/event-tail.ts";
import { streamName } from "../../packages/contracts/nats.ts";
import type { ApiRequest, Handler, TailListener } from "../http/endpoint.ts";
import { requestErrorOf } from "../http/error-translation.ts";
import { invalidParameter, RequestError } from "../http/errors.ts";
import {
	answerWithStream,
	EventStream,
	OpenStreams,
} from "../http/event-stream.ts";
import { flagOf } from "../http/query.ts";
import { refusedView } from "./refused-requests.ts";
import { type EventsPlace, placeOf, requireSource } from "./sources.ts";

const refusedEveryMs = 500;
/** A right that was taken away, a token that has expired and a Source that is gone end a tail within this time. */
const reviewEveryMs = 30_000;
/** The apiserver may be away for as long. */
const maxFailedReviews = 4;

/** Each holds a connection, and some of archive's time. */
const tails = new OpenStreams("tails", { ofAccount: 5, ofAll: 100 });

/** `GET /v1/sources/{name}/events/tail`: new events as server-sent events, and with `?refused=true` refused requests. */
export const tailEvents: Handler = async (request, reply) => {
	const name = request.params.name!;
	const withBody = flagOf("body", request.query.body);
	const withRefused = flagOf("refused", request.query.refused);
	const place = placeOf(await requireSource(request, name, withBody));
	if (!place)
		throw new RequestError(
			"Conflict",
			`The source "${name}" can't receive events yet. Its conditions say why.`,
		);
	const { sourceKey, shards } = place;
	const lastId = request.headers["last-event-id"]?.toString();
	const afterIn = shards.map((shard) =>
		lastId === undefined ? undefined : positionOf(lastId, shard),
	);
	// The place is taken for as long as the connection and what waits in it.
	finished(reply.raw, tails.enter(request.account));
	const stream = new EventStream();
	const { account } = request;
	const listeners = listenersOf(stream, shards);
	// A receiver that is late still writes to the shard that the Source moved from.
	const follow = (shard: number, at: number) =>
		request.server.archive.followArchive(
			{ account, sourceKey, shard, withBody, after: afterIn[at] },
			listeners[at]!,
			stream.signal,
		);
	return answerWithStream(request, reply, stream, {
		name: "a tail",
		work: () => Promise.all(shards.map(follow)),
		every: [
			[reviewOf(request, name, withBody, place, stream), reviewEveryMs],
			...(withRefused
				? [
						[
							refusedOf(request, sourceKey, withBody, stream),
							refusedEveryMs,
						] as const,
					]
				: []),
		],
	});
};

/** One for each shard. The tail shows events when the archives of all of them are there. */
function listenersOf(
	stream: EventStream,
	shards: readonly number[],
): TailListener[] {
	const listener = listenerOf(stream);
	const states = new Map<number, Parameters<TailListener["onArchive"]>>();
	return shards.map((shard) => ({
		...listener,
		onArchive: (...now) => {
			states.set(shard, now);
			const away = [...states.values()].find(([isThere]) => !isThere);
			if (away) listener.onArchive(...away);
			else if (states.size === shards.length) listener.onArchive(true);
		},
	}));
}

function listenerOf(stream: EventStream): TailListener {
	return {
		onEvents: (events, name) => {
			for (const { sequence, index, ...event } of events)
				stream.send(
					event.state,
					event,
					idOf({ stream: name, sequence, index }),
				);
		},
		onLeftOut: (count) =>
			stream.send("left-out", {
				...(count !== undefined && { count }),
				message:
					count === undefined
						? "Events before this may be missing."
						: "More events came than a tail shows.",
			}),
		onArchive: (isThere, reason) =>
			isThere
				? stream.send("open", { message: "New events are shown." })
				: stream.send("waiting", { reason, message: waitingText(reason) }),
	};
}

function waitingText(reason: "TooManyTails" | undefined): string {
	return reason
		? "Archive has as many tails as it may, of the account or in all. Close one: this one goes on when there is room. Events are accepted and kept all the same."
		: "Archive or NATS doesn't answer. Events are accepted and kept all the same; they are shown when it is back.";
}

/** Ends the tail when the caller may not see it any more. */
function reviewOf(
	request: ApiRequest,
	name: string,
	withBody: boolean,
	{ sourceKey, shards }: EventsPlace,
	stream: EventStream,
): () => void {
	let failures = 0;
	return async () => {
		try {
			const place = placeOf(await requireSource(request, name, withBody));
			failures = 0;
			if (place?.sourceKey !== sourceKey)
				stream.end("NotFound", "The source was replaced by another one.");
			else if (place.shards.length > shards.length)
				stream.end(
					"Moved",
					"The source moved to another shard. Connect again; events since then may not be shown.",
				);
		} catch (error) {
			const { code, status, message } = requestErrorOf(error);
			if (status < 500 || ++failures >= maxFailedReviews)
				stream.end(code, message);
		}
	};
}

/** Sends the requests that were refused since the tail began. */
function refusedOf(
	{ server, account }: ApiRequest,
	sourceKey: string,
	withBody: boolean,
	stream: EventStream,
): () => void {
	let after: number | undefined;
	let isReading = false;
	return async () => {
		if (isReading || stream.signal.aborted) return;
		isReading = true;
		try {
			const kept = await server.archive.readRefused(account, sourceKey, after);
			// The first reading only finds where new ones begin.
			if (after !== undefined)
				for (const { request } of kept)
					stream.send("refused", refusedView(request, withBody));
			after = kept.at(-1)?.sequence ?? after ?? 0;
		} catch {
			// The tail itself says that NATS is away.
		} finally {
			isReading = false;
		}
	};
}

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
