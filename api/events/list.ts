import {
	type EventState,
	type EventsAnswer,
	type EventsAsked,
	eventStates,
	type ListedEvent,
	type StoredEvent,
} from "../../packages/contracts/stored-event.ts";
import type { ApiRequest, Handler } from "../http/endpoint.ts";
import { invalidParameter, RequestError } from "../http/errors.ts";
import { flagOf, instantOf } from "../http/query.ts";
import { sizeOf } from "../resources/page.ts";
import { contentMatchOf } from "./content-match.ts";
import { eventView } from "./event.ts";
import { readLoads } from "./loads.ts";
import { type EventsPlace, placeOf, requireSource } from "./sources.ts";

/** `GET /v1/sources/{name}/events`: the newest first. */
export const listSourceEvents: Handler = async (request) => {
	const { params, query } = request;
	const { from, to, type, state, match, cursor } = query;
	const withLoads = flagOf("loads", query.loads);
	const glimpse = flagOf("glimpse", query.glimpse);
	const list = {
		limit: sizeOf(query.limit),
		...(from === undefined
			? match !== undefined && { from: dayBefore(to) }
			: { from: instantOf("from", from) }),
		...(to !== undefined && { to: instantOf("to", to) }),
		...(type !== undefined && { types: [typeOf(type)] }),
		...(state !== undefined && { state: stateOf(state) }),
		...(match !== undefined && { match: contentMatchOf(match) }),
		...(glimpse && { glimpse }),
		...(cursor !== undefined && { cursor: cursorOf(cursor) }),
		...(withLoads && { stored: true as const }),
	};
	const withBodies = glimpse || match !== undefined;
	const place = placeOf(await requireSource(request, params.name!, withBodies));
	if (!place) return { items: [] };
	const {
		events,
		cursor: next,
		reached,
	} = await listInShards(request, place, list);
	const loads = withLoads
		? await readLoads(
				request,
				params.name!,
				events.map((event) => ({
					...event,
					sourceKey: place.sourceKey,
					storedTime: event.storedTime!,
					...(event.releasedTime !== undefined && {
						released: { time: event.releasedTime },
					}),
				})),
			)
		: undefined;
	return {
		items: events.map((event, at) => ({
			...eventView(event),
			...(event.glimpse !== undefined && { glimpse: event.glimpse }),
			...(loads && { loads: loads[at] }),
		})),
		...(next !== undefined && { cursor: next }),
		...(reached !== undefined && { reached }),
	};
};

/** A search goes through bodies, so it goes no further back unasked than a day from its end. */
function dayBefore(to: string | undefined): string {
	const endMs = to === undefined ? Date.now() : Date.parse(instantOf("to", to));
	return new Date(endMs - 24 * 3_600_000).toISOString();
}

function typeOf(type: string): string {
	if (type !== "" && type.length <= 200) return type;
	throw invalidParameter("type", "must have 1 to 200 characters", type);
}

function stateOf(state: string): EventState {
	const found = eventStates.find((one) => one === state);
	if (found) return found;
	throw invalidParameter(
		"state",
		`must be one of ${eventStates.join(", ")}`,
		state,
	);
}

function cursorOf(cursor: string): string {
	if (/^[\w-]{1,8000}$/.test(cursor)) return cursor;
	throw invalidParameter(
		"cursor",
		"must be the cursor of the previous page",
		cursor,
	);
}

interface Page {
	events: ListedEvent[];
	/** Absent at the end. */
	cursor?: string;
	/** With a cursor: what is later was looked at. */
	reached?: string;
}

/** A shard whose list hasn't ended, and where it goes on; without a cursor at its beginning. */
interface Part {
	shard: number;
	cursor?: string;
	/** Another shard's archive lists the imported events, as at the first page: the Source may have moved since. */
	withoutImported?: true;
}

/**
 * A page of the events of a Source: of all shards that may hold some, the newest first. A Source that has moved has a list in
 * each shard, and a page's cursor is those of all. Throws a 410 for a cursor of before the Source moved.
 */
export async function listInShards(
	{ server, account }: Pick<ApiRequest, "server" | "account">,
	{ shards, sourceKey }: Pick<EventsPlace, "shards" | "sourceKey">,
	asked: EventsAsked,
): Promise<Page> {
	const ask = async (
		{ shard, ...place }: Part,
		limit: number,
	): Promise<Page> => {
		const { cursor: _, ...list } = asked;
		const { answer } = await server.archive.askEvents(shard, {
			account,
			sourceKeys: [sourceKey],
			list: { ...list, limit, ...place },
		});
		return answer as EventsAnswer & { ok: true };
	};
	const [only, ...others] = shards;
	if (others.length === 0)
		return ask(
			{ shard: only!, ...(asked.cursor && { cursor: asked.cursor }) },
			asked.limit,
		);
	const parts = asked.cursor
		? readCursor(asked.cursor, shards)
		: shards.map(firstPart);
	const pages = await Promise.all(parts.map((part) => ask(part, asked.limit)));
	const counts = countsOf(pages, asked.limit);
	const events: ListedEvent[] = [];
	const left: Part[] = [];
	for (const [at, part] of parts.entries()) {
		const [page, count] = [pages[at]!, counts[at]!];
		const isWhole = count === page.events.length;
		if (count === 0 && !isWhole) {
			left.push(part);
			continue;
		}
		// The cursor belongs where this page ends.
		const shown = isWhole ? page : await ask(part, count);
		events.push(...shown.events);
		const { cursor } = shown;
		if (cursor !== undefined) left.push({ ...part, cursor });
	}
	events.sort(newestFirst);
	// What one shard hasn't looked at, the page hasn't, nor what the next one shows.
	const reached = pages
		.flatMap((page, at) => [
			...(page.reached === undefined ? [] : [page.reached]),
			...page.events.slice(counts[at]).map(({ time }) => time),
		])
		.sort()
		.at(-1);
	return {
		events,
		...(left.length > 0 && { cursor: writeCursor(left) }),
		...(left.length > 0 && reached !== undefined && { reached }),
	};
}

function firstPart(shard: number, at: number): Part {
	return { shard, ...(at > 0 && { withoutImported: true }) };
}

/** How many events of each page belong to the newest of all. What follows a page is not known, so nothing older than where it ended does. */
function countsOf(pages: readonly Page[], limit: number): number[] {
	const until = pages
		.filter(({ cursor }) => cursor !== undefined)
		.map(({ events, reached }) => reached ?? events.at(-1)?.time ?? "~")
		.sort()
		.at(-1);
	const newest = pages
		.flatMap(({ events }, page) => events.map((event) => ({ event, page })))
		.filter(({ event }) => until === undefined || event.time >= until)
		.sort((a, b) => newestFirst(a.event, b.event))
		.slice(0, limit);
	return pages.map(
		(_, page) => newest.filter((each) => each.page === page).length,
	);
}

/** Times from Date.toISOString sort as strings. */
function newestFirst(a: StoredEvent, b: StoredEvent): number {
	const [one, other] = [a, b].map(({ time, eventID }) => `${time} ${eventID}`);
	return one! < other! ? 1 : -1;
}

function writeCursor(parts: readonly Part[]): string {
	return Buffer.from(JSON.stringify(parts)).toString("base64url");
}

/** Whoever writes a cursor chooses where pages begin, and nothing else: archive reads those inside. */
function readCursor(text: string, shards: readonly number[]): Part[] {
	try {
		const parts = JSON.parse(Buffer.from(text, "base64url").toString());
		const left = new Set(shards);
		const isRight = ({ shard, cursor }: Part) =>
			left.delete(shard) &&
			(cursor === undefined || /^[\w-]{1,2000}$/.test(cursor));
		if (Array.isArray(parts) && parts.length > 0 && parts.every(isRight))
			return parts.map(({ shard, cursor, withoutImported }: Part) => ({
				shard,
				...(cursor !== undefined && { cursor }),
				...(withoutImported && { withoutImported: true }),
			}));
	} catch {
		// As one of before the Source moved.
	}
	throw new RequestError(
		"CursorExpired",
		"The cursor is not of this list, or of before the source moved to another shard. List again from the first page.",
	);
}
