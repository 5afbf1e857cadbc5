import type {
	EventState,
	EventsAsked,
} from "../../../packages/contracts/stored-event.ts";
import { utcDate } from "../../../packages/contracts/utc-date.ts";
import { aboutKind, objectKinds } from "../../wire/object-kinds.ts";
import type { DateAdditions } from "../addition/addition-store.ts";
import {
	type ArchivedSource,
	type EventObject,
	importedObjects,
} from "./date-objects.ts";
import { type AddedRow, type EventStore, rowStates } from "./event-store.ts";
import type { OpenObject } from "./object-reader.ts";
import type { RowChoice, StoredRow } from "./row.ts";

/** A row, and what a list says of it. */
export interface ListedRow {
	row: StoredRow;
	state: EventState;
	/** Absent while a frame of the buffer has it. */
	object?: EventObject;
	/** What made it a row of its date. */
	added?: AddedRow;
}

type ObjectsAsked = Pick<
	EventsAsked,
	"from" | "to" | "state" | "withoutImported"
>;

/** The objects of a source that may have what a list asks for. */
export class ListedObjects {
	readonly #events: EventStore;
	readonly #source: ArchivedSource;
	readonly #asked: ObjectsAsked;
	#additions: Promise<Map<string, DateAdditions>> | undefined;

	constructor(events: EventStore, source: ArchivedSource, asked: ObjectsAsked) {
		this.#events = events;
		this.#source = source;
		this.#asked = asked;
	}

	/** The latest first. */
	async dates(): Promise<string[]> {
		return this.#datesWith((await this.#added()).keys());
	}

	/** Those of what was received, the latest first. */
	receivedDates(): string[] {
		return this.#datesWith([]);
	}

	#datesWith(added: Iterable<string>): string[] {
		const { from, to } = this.#asked;
		const first = from && utcDate(Date.parse(from));
		const last = to && utcDate(Date.parse(to));
		const received = objectKinds.flatMap((kind) => [
			...this.#source[kind].keys(),
		]);
		return [...new Set([...received, ...added])]
			.filter((date) => (!first || date >= first) && (!last || date <= last))
			.sort()
			.reverse();
	}

	/** The latest cut first, and then what was imported. */
	async ofDate(date: string): Promise<EventObject[]> {
		const [received, imported] = await Promise.all([
			this.receivedOf(date),
			this.#importedOf(date),
		]);
		return [...received, ...imported];
	}

	/** The latest cut first. */
	async receivedOf(date: string): Promise<EventObject[]> {
		const { objects } = this.#events;
		const [rows, apart] = await Promise.all(
			objectKinds.map((kind) =>
				this.#mayHave(...aboutKind(kind).states)
					? objects.ofDate(this.#source, date, kind)
					: [],
			),
		);
		return inOrderOfCuts(rows!, apart!).reverse();
	}

	async #importedOf(date: string): Promise<EventObject[]> {
		const { account, sourceKey } = this.#source;
		const listed = (await this.#added()).get(date)?.records ?? [];
		const added = this.#events.added({ account, sourceKey, date }, listed);
		return importedObjects((await Array.fromAsync(added)).flat()).reverse();
	}

	#mayHave(...states: (EventState | undefined)[]): boolean {
		const { state } = this.#asked;
		return state === undefined || states.includes(state);
	}

	/** What Imports, and Releases, have added to the source's dates. */
	async #added(): Promise<Map<string, DateAdditions>> {
		const { withoutImported } = this.#asked;
		if (withoutImported || !this.#mayHave("imported")) return new Map();
		this.#additions ??= this.#events.additions.ofSource(this.#source);
		return this.#additions;
	}

	/** The chosen rows of an object, the newest first. */
	async rows(
		object: EventObject,
		opened: OpenObject,
		choice: RowChoice,
	): Promise<ListedRow[]> {
		const { state } = this.#asked;
		const { account } = this.#source;
		const found: ListedRow[] = [];
		const { fromMs = 0, toMs = Infinity, before } = choice;
		const [, later] = aboutKind(object.kind).states;
		for (const group of opened.groups.toReversed()) {
			if (group.toMs < fromMs || group.fromMs > toMs) continue;
			if (before && group.fromMs > before.timeMs) continue;
			const limit = choice.limit - found.length;
			if (limit <= 0) break;
			// Which rows are chosen shows only afterwards, where they have different states.
			const most = later && state ? Infinity : limit;
			const rows = await this.#events.inTurn(account, () =>
				this.#events.reader.rows(opened, group, { ...choice, limit: most }),
			);
			const source = this.#source;
			const known = await rowStates(this.#events, source, object, rows);
			for (const [at, row] of rows.entries()) {
				const own = known[at]!;
				if (state === undefined || own.state === state)
					found.push({ row, ...own, object });
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
