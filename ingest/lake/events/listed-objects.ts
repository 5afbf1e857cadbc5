import type {
	EventState,
	EventsAsked,
	ListedEvent,
} from "../../../packages/contracts/stored-event.ts";
import { utcDate } from "../../../packages/contracts/utc-date.ts";
import type { DateAdditions } from "../addition/addition-store.ts";
import {
	type ArchivedSource,
	type EventObject,
	importedObjects,
} from "./date-objects.ts";
import { addedRows, type EventStore } from "./event-store.ts";
import type { OpenObject } from "./object-reader.ts";
import type { RowChoice, StoredRow } from "./row.ts";

/** A row, and what a list says of it. */
export interface ListedRow {
	row: StoredRow;
	state: EventState;
	/** Absent while a frame of the buffer has it. */
	object?: EventObject;
	times: Pick<ListedEvent, "storedTime" | "releasedTime">;
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
		const { objects, quarantined } = this.#source;
		const first = from && utcDate(Date.parse(from));
		const last = to && utcDate(Date.parse(to));
		return [...new Set([...objects.keys(), ...quarantined.keys(), ...added])]
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
		const [rows, apart] = await Promise.all([
			this.#mayHave("accepted")
				? objects.ofDate(this.#source, date, "objects")
				: [],
			this.#mayHave("quarantined", "released")
				? objects.ofDate(this.#source, date, "quarantined")
				: [],
		]);
		return inOrderOfCuts(rows, apart).reverse();
	}

	async #importedOf(date: string): Promise<EventObject[]> {
		const { account, sourceKey } = this.#source;
		const listed = (await this.#added()).get(date)?.records ?? [];
		const added = this.#events.added({ account, sourceKey, date }, listed);
		return importedObjects((await Array.fromAsync(added)).flat()).reverse();
	}

	#mayHave(...states: EventState[]): boolean {
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
		const { account, sourceKey } = this.#source;
		const folder = { account, sourceKey, date: object.date };
		const found: ListedRow[] = [];
		const { fromMs = 0, toMs = Infinity, before } = choice;
		const receivedState =
			object.importedMs === undefined ? "accepted" : "imported";
		for (const group of opened.groups.toReversed()) {
			if (group.toMs < fromMs || group.fromMs > toMs) continue;
			if (before && group.fromMs > before.timeMs) continue;
			const limit = choice.limit - found.length;
			if (limit <= 0) break;
			// Which rows of quarantine are chosen shows only afterwards.
			const most = object.quarantined && state ? Infinity : limit;
			const rows = await this.#events.inTurn(account, () =>
				this.#events.reader.rows(opened, group, { ...choice, limit: most }),
			);
			const released = object.quarantined
				? await addedRows(this.#events, folder, object, rows)
				: undefined;
			for (const row of rows) {
				const releasedMs = released?.get(row.eventID)?.timeMs;
				const own = !released
					? receivedState
					: releasedMs !== undefined
						? "released"
						: "quarantined";
				if (state === undefined || own === state)
					found.push({
						...{ row, state: own, object },
						times:
							releasedMs === undefined
								? {}
								: { releasedTime: new Date(releasedMs).toISOString() },
					});
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
