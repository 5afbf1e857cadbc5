import {
	type EventsAnswer,
	type EventsAsked,
	isReceivedState,
	type ListedEvent,
} from "../../../packages/contracts/stored-event.ts";
import type { UtcDate } from "../../../packages/contracts/utc-date.ts";
import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import type { CutRecord } from "../../archive/decide/cut.ts";
import { type KindMark, kindOf, ofKind } from "../../wire/object-kinds.ts";
import { RequestFailure } from "../request/errors.ts";
import { BufferedEvents, pageMs } from "./buffered-events.ts";
import type { EventObject } from "./date-objects.ts";
import type { EventStore, StreamEnds } from "./event-store.ts";
import { ListedObjects, type ListedRow } from "./listed-objects.ts";
import { type CutPlace, cutOfRow, readCut, storedTimeOf } from "./lookup.ts";
import type { OpenObject } from "./object-reader.ts";
import { isBefore, type RowChoice, type RowPlace, storedEvent } from "./row.ts";

/** Most objects of a quiet source hold a few events. */
const opensAtOnce = 8;
/** Cuts since the first page. More come of a person who has slept in between. */
const maxNewObjects = 200;

/**
 * A page of a source's events, the newest first: those that weren't archived at the first page in the order of their time, then
 * object by object, those of Imports last of their date. Each event comes once, also if it is archived between two pages.
 */
export async function listEvents(
	events: EventStore,
	account: string,
	sourceKey: string,
	asked: EventsAsked,
): Promise<EventsAnswer> {
	const ends = await events.ends();
	const cursor = asked.cursor ? readCursor(asked.cursor) : undefined;
	const listing = new Listing(events, account, sourceKey, asked, ends, cursor);
	const next = await listing.read();
	// Objects of neighbouring cuts overlap by some seconds.
	const shown = listing.shown.sort((a, b) => (isBefore(a.row, b.row) ? 1 : -1));
	const times = asked.stored ? await timesOf(events, shown) : [];
	return {
		ok: true,
		events: shown.map(({ row, state }, at) => ({
			...storedEvent(row, state),
			...(row.glimpse !== undefined && { glimpse: row.glimpse }),
			...times[at],
		})),
		...(next && {
			cursor: writeCursor(next),
			reached: new Date(listing.reachedMs).toISOString(),
		}),
	};
}

/** When each was stored, and what else a list says of its times. The cuts are read once each. */
async function timesOf(
	events: EventStore,
	shown: readonly ListedRow[],
): Promise<Pick<ListedEvent, "storedTime" | "releasedTime">[]> {
	const { keys } = events.options.store;
	const keyOf = ({ stream, first }: CutPlace) => keys.cut(stream, first);
	const places = shown.map(
		({ row, object }) => object && cutOfRow(row, object),
	);
	const unique = new Map(
		places.flatMap((place) => (place ? [[keyOf(place), place]] : [])),
	);
	const cuts = new Map<string, CutRecord | undefined>();
	await mapConcurrently([...unique], opensAtOnce, async ([key, place]) => {
		cuts.set(key, await readCut(events, place));
	});
	return shown.map(({ row, object, added }, at) => {
		const place = places[at];
		return {
			storedTime: object
				? storedTimeOf(row, object, place && cuts.get(keyOf(place)))
				: new Date(row.storedMs!).toISOString(),
			...(added && { releasedTime: new Date(added.timeMs).toISOString() }),
		};
	});
}

class Listing {
	readonly shown: ListedRow[] = [];
	/** Where the page ends: what is later was looked at, but for what came meanwhile. */
	reachedMs = 0;
	readonly #events: EventStore;
	readonly #account: string;
	readonly #sourceKey: string;
	readonly #asked: EventsAsked;
	readonly #ends: StreamEnds;
	readonly #cursor: Cursor | undefined;
	/** Where the list began. */
	readonly #begin: Pick<Cursor, "stream" | "done">;
	readonly #choice: Omit<RowChoice, "limit">;
	readonly #untilMs = performance.now() + pageMs;

	constructor(
		events: EventStore,
		account: string,
		sourceKey: string,
		asked: EventsAsked,
		ends: StreamEnds,
		cursor: Cursor | undefined,
	) {
		const { from, to, types, match, glimpse } = asked;
		this.#events = events;
		this.#account = account;
		this.#sourceKey = sourceKey;
		this.#asked = asked;
		this.#ends = ends;
		this.#cursor = cursor;
		this.#begin = cursor ?? ends;
		this.#choice = {
			...(from !== undefined && { fromMs: Date.parse(from) }),
			...(to !== undefined && { toMs: Date.parse(to) }),
			...(types && { types }),
			...(match && { match }),
			...(glimpse && { glimpse }),
		};
	}

	/** Returns where the next page begins; undefined at the end. */
	async read(): Promise<Cursor | undefined> {
		const next = this.#cursor?.object ? undefined : await this.#readRecent();
		return next ?? this.#readArchived();
	}

	get #left(): number {
		return this.#asked.limit - this.shown.length;
	}

	/** Events that weren't archived at the first page. Returns where the next page goes on with them. */
	async #readRecent(): Promise<Cursor | undefined> {
		const { stream, done } = this.#begin;
		const before = this.#cursor?.after;
		const choice = {
			...this.#choice,
			limit: this.#asked.limit,
			...(before && { before }),
		};
		// The frames first: what is archived meanwhile is in an object then.
		const buffered = await this.#buffered(choice);
		const found: ListedRow[] = buffered.rows.map((row) => ({
			row,
			state: row.state!,
		}));
		found.push(...(await this.#archivedSince(choice)));
		const unique = new Map(found.map((each) => [each.row.eventID, each]));
		const sorted = [...unique.values()]
			.filter(({ row }) => row.timeMs > buffered.unreadMs)
			.sort((a, b) => (isBefore(a.row, b.row) ? 1 : -1));
		this.shown.push(...sorted.slice(0, this.#left));
		const last = this.#left > 0 ? undefined : this.shown.at(-1)!.row;
		if (!last && buffered.unreadMs === -Infinity) return undefined;
		const after = last
			? { timeMs: last.timeMs, eventID: last.eventID }
			: { timeMs: buffered.unreadMs + 1, eventID: "" };
		this.reachedMs = after.timeMs;
		return { stream, done, after, frame: buffered.readThrough(after) };
	}

	#buffered(choice: RowChoice): Promise<BufferedEvents> {
		const { state } = this.#asked;
		const isSameStream = this.#begin.stream === this.#ends.stream;
		return BufferedEvents.read(
			this.#events,
			this.#ends,
			{
				...choice,
				account: this.#account,
				sourceKeys: [this.#sourceKey],
				...(state && isReceivedState(state) && { state }),
			},
			state && !isReceivedState(state)
				? 0
				: isSameStream
					? this.#cursor?.frame
					: undefined,
		);
	}

	/** Throws {@link RequestFailure} CursorExpired if there is too much. */
	async #archivedSince(choice: RowChoice): Promise<ListedRow[]> {
		const { stream, done } = this.#begin;
		if (this.#events.doneOf(stream) === done) return [];
		const listed = this.#objects();
		const objects: EventObject[] = [];
		// What was imported comes with the archived objects.
		for (const date of listed.receivedDates())
			for (const object of await listed.receivedOf(date))
				if (!this.#wasArchived(object)) objects.push(object);
		if (objects.length > maxNewObjects) throw expired();
		const found: ListedRow[] = [];
		for (const object of objects)
			for (const pair of await this.#opened([object]))
				found.push(...(await listed.rows(...pair, choice)));
		return found;
	}

	async #readArchived(): Promise<Cursor | undefined> {
		const { stream, done } = this.#begin;
		const start = this.#cursor?.object;
		const listed = this.#objects();
		for (const date of await listed.dates()) {
			if (start && date > start.date) continue;
			let objects = (await listed.ofDate(date)).filter((object) =>
				this.#wasArchived(object),
			);
			if (start?.date === date) {
				const at = objects.findIndex(
					({ name, kind }) => name === start.name && kind === kindOf(start),
				);
				if (at < 0) throw expired();
				objects = objects.slice(at);
			}
			for (let at = 0; at < objects.length; at += opensAtOnce) {
				const some = await this.#opened(objects.slice(at, at + opensAtOnce));
				for (const [index, [object, opened]] of some.entries()) {
					const isStart = start?.date === date && at + index === 0;
					const rows = await listed.rows(object, opened, {
						...this.#choice,
						limit: this.#left,
						...(isStart && { before: this.#cursor!.after }),
					});
					this.shown.push(...rows);
					const isFull = this.#left === 0;
					if (!isFull && performance.now() < this.#untilMs) continue;
					const { name, kind } = object;
					const { timeMs, eventID } = isFull ? rows.at(-1)!.row : atEnd;
					this.reachedMs = isFull ? timeMs : (opened.groups[0]?.fromMs ?? 0);
					return {
						stream,
						done,
						after: { timeMs, eventID },
						object: ofKind({ date, name }, kind),
					};
				}
			}
		}
		return undefined;
	}

	#objects(): ListedObjects {
		const source = this.#events.archived(this.#account, this.#sourceKey);
		return new ListedObjects(this.#events, source, this.#asked);
	}

	async #opened(
		objects: readonly EventObject[],
	): Promise<(readonly [EventObject, OpenObject])[]> {
		const opened = await this.#events.inTurn(this.#account, () =>
			mapConcurrently(objects, opensAtOnce, ({ key }) =>
				this.#events.reader.open(key),
			),
		);
		return objects.map((object, index) => [object, opened[index]!]);
	}

	/** At the first page. A new stream's events come among the archived ones. */
	#wasArchived({ stream, first }: EventObject): boolean {
		return stream !== this.#begin.stream || first <= this.#begin.done;
	}
}

function expired(): RequestFailure {
	return new RequestFailure(
		"CursorExpired",
		"The objects that the cursor names were replaced meanwhile",
	);
}

/** Where a page of a list ended. */
export interface Cursor {
	/** At the first page, this stream was archived through this sequence: later events come first, in the order of their time. */
	stream: string;
	done: number;
	/** The last event of the page, or of the object below. */
	after: RowPlace;
	/** While the page ended among the later events: those of the stream's frames from this sequence on have been listed. */
	frame?: number;
	/** Absent while the page ended among the later events. */
	object?: { date: UtcDate; name: string } & KindMark;
}

/** Before all rows: nothing of the object is left. */
export const atEnd: RowPlace = { timeMs: -1, eventID: "" };

export function writeCursor(cursor: Cursor): string {
	return Buffer.from(JSON.stringify(cursor)).toString("base64url");
}

/** Throws {@link RequestFailure} CursorInvalid. Whoever writes a cursor chooses where a page begins, and nothing else. */
export function readCursor(text: string): Cursor {
	try {
		const cursor = JSON.parse(Buffer.from(text, "base64url").toString());
		const { stream, done, after, frame, object } = cursor;
		const isRight =
			typeof stream === "string" &&
			Number.isSafeInteger(done) &&
			Number.isSafeInteger(after.timeMs) &&
			typeof after.eventID === "string" &&
			(frame === undefined || Number.isSafeInteger(frame)) &&
			(object === undefined ||
				(/^\d{4}-\d\d-\d\d$/.test(object.date) &&
					typeof object.name === "string"));
		if (isRight)
			return {
				stream,
				done,
				after,
				...(frame !== undefined && { frame }),
				...(object && { object }),
			};
	} catch {
		// As any other text that isn't one.
	}
	throw new RequestFailure("CursorInvalid", "The cursor is not of this list");
}
