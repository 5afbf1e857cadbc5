import type {
	EventState,
	EventsAnswer,
	EventsAsked,
} from "../../../contracts/stored-event.ts";
import { utcDate } from "../../../contracts/utc-date.ts";
import { mapConcurrently } from "../concurrency/map-concurrently.ts";
import type { IndexedSource } from "../ledger/ledger-index.ts";
import { RequestFailure } from "../request/errors.ts";
import { atEnd, type Cursor, readCursor, writeCursor } from "./cursor.ts";
import type { EventObject } from "./date-objects.ts";
import type { EventStore, StreamEnds } from "./event-store.ts";
import type { OpenObject } from "./object-reader.ts";
import { releasedRows } from "./released-rows.ts";
import {
	type Choice,
	type EventRow,
	isBefore,
	newestFirst,
	storedEvent,
} from "./rows/row.ts";

/** After this time a page ends with what it has, and its cursor. */
const pageMs = 3_000;
/** A page reads the newest frames only: a longer buffer is on its way to the bucket. */
const maxBufferBytes = 32 * 1024 ** 2;
/** Most objects of a quiet source hold a few events. */
const opensAtOnce = 8;
/** Cuts since the first page. More come of a person who has slept in between. */
const maxNewObjects = 200;

interface Shown {
	row: EventRow;
	state: EventState;
}

/**
 * A page of a source's events, the newest first: those that weren't archived at the first page in the order of their time, then
 * object by object. Each event comes once, also if it is archived between two pages.
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
	return {
		ok: true,
		// Objects of neighbouring cuts overlap by some seconds.
		events: listing.shown
			.sort((a, b) => (isBefore(a.row, b.row) ? 1 : -1))
			.map(({ row, state }) => storedEvent(row, state)),
		...(next && { cursor: writeCursor(next) }),
	};
}

class Listing {
	readonly shown: Shown[] = [];
	readonly #events: EventStore;
	readonly #account: string;
	readonly #sourceKey: string;
	readonly #asked: EventsAsked;
	readonly #ends: StreamEnds;
	readonly #cursor: Cursor | undefined;
	/** Where the list began. */
	readonly #begin: Pick<Cursor, "stream" | "done">;
	readonly #choice: Omit<Choice, "limit">;
	readonly #untilMs = performance.now() + pageMs;

	constructor(
		events: EventStore,
		account: string,
		sourceKey: string,
		asked: EventsAsked,
		ends: StreamEnds,
		cursor: Cursor | undefined,
	) {
		const { from, to, types } = asked;
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
		};
	}

	/** Returns where the next page begins; undefined at the end. */
	async read(): Promise<Cursor | undefined> {
		const { stream, done } = this.#begin;
		if (!this.#cursor?.object) {
			const after = await this.#readRecent();
			if (after) return { stream, done, after };
		}
		const source = this.#events.archived(this.#account, this.#sourceKey);
		return source && this.#readArchived(source);
	}

	get #left(): number {
		return this.#asked.limit - this.shown.length;
	}

	/** Events that weren't archived at the first page. Returns the page's last event if it is full. */
	async #readRecent() {
		const before = this.#cursor?.after;
		const choice = { ...this.#choice, ...(before && { before }) };
		// The frames first: what is archived meanwhile is in an object then.
		const found = await this.#buffered(choice);
		found.push(...(await this.#archivedSince(choice)));
		const unique = new Map(found.map((each) => [each.row.eventID, each]));
		const sorted = [...unique.values()].sort((a, b) =>
			isBefore(a.row, b.row) ? 1 : -1,
		);
		this.shown.push(...sorted.slice(0, this.#left));
		if (this.#left > 0) return undefined;
		const { timeMs, eventID } = this.shown.at(-1)!.row;
		return { timeMs, eventID };
	}

	async #buffered(choice: Omit<Choice, "limit">): Promise<Shown[]> {
		const { state, limit } = this.#asked;
		const { stream, done, last, frameBytes } = this.#ends;
		if (done >= last || state === "released") return [];
		const most = Math.max(1, Math.floor(maxBufferBytes / frameBytes));
		const from = Math.max(done + 1, last + 1 - most);
		const wanted = { stream, from, to: last };
		const rows: EventRow[] = [];
		const batches = this.#events.buffered(wanted, {
			...choice,
			limit,
			account: this.#account,
			sourceKeys: [this.#sourceKey],
			...(state && { quarantined: state === "quarantined" }),
		});
		for await (const batch of batches) rows.push(...batch.rows);
		return newestFirst(rows).map((row) => ({
			row,
			state: row.quarantined ? "quarantined" : "accepted",
		}));
	}

	/** Throws {@link RequestFailure} CursorExpired if there is too much. */
	async #archivedSince(choice: Omit<Choice, "limit">): Promise<Shown[]> {
		const { stream, done } = this.#begin;
		if (stream === this.#ends.stream && this.#ends.done === done) return [];
		const source = this.#events.archived(this.#account, this.#sourceKey);
		if (!source) return [];
		const objects: EventObject[] = [];
		for (const date of this.#datesOf(source))
			for (const object of await this.#objectsOf(source, date))
				if (!this.#wasArchived(object)) objects.push(object);
		if (objects.length > maxNewObjects) throw expired();
		const found: Shown[] = [];
		for (const object of objects)
			found.push(
				...(await this.#rowsOf(source, object, await this.#open(object), {
					...choice,
					limit: this.#asked.limit,
				})),
			);
		return found;
	}

	async #readArchived(source: IndexedSource): Promise<Cursor | undefined> {
		const { stream, done } = this.#begin;
		const start = this.#cursor?.object;
		for (const date of this.#datesOf(source)) {
			if (start && date > start.date) continue;
			let objects = (await this.#objectsOf(source, date)).filter((object) =>
				this.#wasArchived(object),
			);
			if (start?.date === date) {
				const at = objects.findIndex(
					({ name, quarantined }) =>
						name === start.name && quarantined === start.quarantined,
				);
				if (at < 0) throw expired();
				objects = objects.slice(at);
			}
			for (let at = 0; at < objects.length; at += opensAtOnce) {
				const some = objects.slice(at, at + opensAtOnce);
				const opened = await this.#events.inTurn(this.#account, () =>
					mapConcurrently(some, opensAtOnce, ({ key }) =>
						this.#events.reader.open(key),
					),
				);
				for (const [index, object] of some.entries()) {
					const isStart = start?.date === date && at + index === 0;
					const rows = await this.#rowsOf(source, object, opened[index]!, {
						...this.#choice,
						limit: this.#left,
						...(isStart && { before: this.#cursor!.after }),
					});
					this.shown.push(...rows);
					const isFull = this.#left === 0;
					if (!isFull && performance.now() < this.#untilMs) continue;
					const { name, quarantined } = object;
					const { timeMs, eventID } = isFull ? rows.at(-1)!.row : atEnd;
					return {
						stream,
						done,
						after: { timeMs, eventID },
						object: { date, quarantined, name },
					};
				}
			}
		}
		return undefined;
	}

	/** Those that may have events of the choice, the latest first. */
	#datesOf({ objects, quarantined }: IndexedSource): string[] {
		const { from, to } = this.#asked;
		const first = from && utcDate(Date.parse(from));
		const last = to && utcDate(Date.parse(to));
		return [...new Set([...objects.keys(), ...quarantined.keys()])]
			.filter((date) => (!first || date >= first) && (!last || date <= last))
			.sort()
			.reverse();
	}

	/** The latest cut first. */
	async #objectsOf(
		source: IndexedSource,
		date: string,
	): Promise<EventObject[]> {
		const { state } = this.#asked;
		const [rows, apart] = await Promise.all(
			[false, true].map((quarantined) =>
				state === undefined || (state !== "accepted") === quarantined
					? this.#events.objects.ofDate(source, date, quarantined)
					: [],
			),
		);
		return inOrderOfCuts(rows!, apart!).reverse();
	}

	#open({ key }: EventObject): Promise<OpenObject> {
		return this.#events.inTurn(this.#account, () =>
			this.#events.reader.open(key),
		);
	}

	/** At the first page. A new stream's events come among the archived ones. */
	#wasArchived({ stream, first }: EventObject): boolean {
		return stream !== this.#begin.stream || first <= this.#begin.done;
	}

	/** The chosen rows of an object, the newest first. */
	async #rowsOf(
		source: IndexedSource,
		object: EventObject,
		opened: OpenObject,
		choice: Choice,
	): Promise<Shown[]> {
		const { state } = this.#asked;
		const found: Shown[] = [];
		const { fromMs = 0, toMs = Infinity, before } = choice;
		for (const group of opened.groups.toReversed()) {
			if (group.toMs < fromMs || group.fromMs > toMs) continue;
			if (before && group.fromMs > before.timeMs) continue;
			const limit = choice.limit - found.length;
			if (limit <= 0) break;
			// Which rows of quarantine are chosen shows only afterwards.
			const most = object.quarantined && state ? Infinity : limit;
			const rows = await this.#events.inTurn(this.#account, () =>
				this.#events.reader.rows(opened, group, { ...choice, limit: most }),
			);
			const { account, sourceKey } = source;
			const folder = { account, sourceKey, date: object.date };
			const released = object.quarantined
				? await releasedRows(this.#events, folder, object, rows)
				: undefined;
			for (const row of rows) {
				const own = !released
					? "accepted"
					: released.has(row.eventID)
						? "released"
						: "quarantined";
				if (state === undefined || own === state)
					found.push({ row, state: own });
			}
		}
		return found.slice(0, choice.limit);
	}
}

/** Each of the lists is in the order of cuts. Of the same cut, what is apart comes first. */
function inOrderOfCuts(
	rows: readonly EventObject[],
	apart: readonly EventObject[],
): EventObject[] {
	const left = [...apart];
	const merged: EventObject[] = [];
	for (const row of rows) {
		while (left[0]?.stream === row.stream && left[0].first <= row.first)
			merged.push(left.shift()!);
		merged.push(row);
	}
	return [...merged, ...left];
}

function expired(): RequestFailure {
	return new RequestFailure(
		"CursorExpired",
		"The objects that the cursor names were replaced meanwhile",
	);
}
