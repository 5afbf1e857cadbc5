import { datesBetween, utcDate } from "../../../packages/contracts/utc-date.ts";
import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import { objectKinds } from "../../wire/object-kinds.ts";
import {
	type ArchivedSource,
	type EventObject,
	importedObjects,
} from "./date-objects.ts";
import type { EventStore } from "./event-store.ts";
import type { OpenGroup, OpenObject } from "./object-reader.ts";
import type { StoredRow } from "./row.ts";

export interface EventQuery {
	account: string;
	sourceKeys: readonly string[];
	id: string;
	/** With body and captured headers. */
	whole: boolean;
	/** How much later than its ID the event may be. */
	keyMs: number;
}

/** An event's row, and the object that has it. */
export interface EventMatch {
	object: EventObject;
	row: StoredRow;
}

/**
 * How far the order of cuts and of times may differ: a frame is published within 60 s of its oldest event, and receivers'
 * clocks differ by 30 s at most from NATS's.
 */
export const disorderMs = 2 * 60_000;
const opensAtOnce = 8;

/** Looks where the ID's time is. */
export async function atItsTime(
	events: EventStore,
	source: ArchivedSource,
	wanted: EventQuery,
	idMs: number,
): Promise<EventMatch | undefined> {
	for (const kind of objectKinds) {
		const date = utcDate(idMs);
		const objects = await events.objects.ofDate(source, date, kind);
		const found = await inOrderedObjects(events, objects, wanted, idMs);
		if (found) return found;
	}
	return undefined;
}

/** How long a question looks for an event, in all its sources. */
export interface TimedSearch {
	/** By performance.now(). */
	untilMs: number;
	/** Whether it ended then, and not where nothing was left to look at. */
	isCut: boolean;
}

/** Looks at what was imported for the ID's date. */
export async function amongImported(
	events: EventStore,
	{ sourceKey }: ArchivedSource,
	{ account, id, whole }: EventQuery,
	idMs: number,
	search: TimedSearch,
): Promise<EventMatch | undefined> {
	if (isOver(search)) return undefined;
	const folder = { account, sourceKey, date: utcDate(idMs) };
	for await (const additions of events.added(folder)) {
		if (isOver(search)) return undefined;
		const some = importedObjects(additions);
		const opened = await events.inTurn(account, () =>
			mapConcurrently(some, opensAtOnce, ({ key }) => events.reader.open(key)),
		);
		for (const [index, object] of some.entries()) {
			const row = await rowIn(events, account, opened[index]!, id, whole, {
				fromMs: idMs,
				toMs: idMs,
			});
			if (row) return { object, row };
		}
	}
	return undefined;
}

/** Looks where the time should be, and then around it. */
async function inOrderedObjects(
	events: EventStore,
	objects: readonly EventObject[],
	{ account, id, whole }: EventQuery,
	idMs: number,
): Promise<EventMatch | undefined> {
	const opened = new Map<EventObject, OpenObject>();
	const open = async (object: EventObject) => {
		const known = opened.get(object);
		if (known) return known;
		const read = await events.inTurn(account, () =>
			events.reader.open(object.key),
		);
		opened.set(object, read);
		return read;
	};
	const look = async (object: EventObject): Promise<EventMatch | undefined> => {
		const { groups, ...rest } = await open(object);
		const row = await rowIn(events, account, { groups, ...rest }, id, whole, {
			fromMs: idMs,
			toMs: idMs,
		});
		return row && { object, row };
	};
	const low = await firstSince(objects, idMs, open);
	const here = objects[low];
	const first = here && (await look(here));
	if (first) return first;
	for (const step of [1, -1])
		for (let at = low + step; objects[at]; ) {
			const some: EventObject[] = [];
			for (; some.length < opensAtOnce && objects[at]; at += step)
				some.push(objects[at]!);
			const places = await mapConcurrently(some, opensAtOnce, look);
			const place = places.find((each) => each !== undefined);
			if (place) return place;
			const edge = await open(some.at(-1)!);
			const isBeyond =
				step > 0
					? fromMsOf(edge) > idMs + disorderMs
					: toMsOf(edge) < idMs - disorderMs;
			if (isBeyond) break;
		}
	return undefined;
}

/** The event of a sender's key may be later than its ID. The groups' bounds of IDs show which ones may have it. */
export async function afterItsTime(
	events: EventStore,
	source: ArchivedSource,
	{ account, id, whole, keyMs }: EventQuery,
	idMs: number,
	search: TimedSearch,
): Promise<EventMatch | undefined> {
	const times = { fromMs: idMs, toMs: idMs + keyMs };
	const open = ({ key }: EventObject) => events.reader.open(key);
	const openInTurn = (object: EventObject) =>
		events.inTurn(account, () => open(object));
	const firstDate = utcDate(idMs);
	for (const date of datesBetween(firstDate, utcDate(idMs + keyMs)))
		for (const kind of objectKinds) {
			const objects = await events.objects.ofDate(source, date, kind);
			let at =
				date === firstDate
					? await firstSince(objects, idMs - disorderMs, openInTurn)
					: 0;
			for (; at < objects.length; at += opensAtOnce) {
				if (isOver(search)) return undefined;
				const some = objects.slice(at, at + opensAtOnce);
				const opened = await events.inTurn(account, () =>
					mapConcurrently(some, opensAtOnce, open),
				);
				for (const [index, object] of some.entries()) {
					const args = [opened[index]!, id, whole, times] as const;
					const row = await rowIn(events, account, ...args);
					if (row) return { object, row };
				}
				if (fromMsOf(opened.at(-1)!) > times.toMs + disorderMs) break;
			}
		}
	return undefined;
}

function isOver(search: TimedSearch): boolean {
	search.isCut ||= performance.now() > search.untilMs;
	return search.isCut;
}

/** Index of the first object that has events since this time, if each had later ones than the object before it. */
async function firstSince(
	objects: readonly EventObject[],
	timeMs: number,
	open: (object: EventObject) => Promise<OpenObject>,
): Promise<number> {
	let [low, high] = [0, objects.length];
	while (low < high) {
		const middle = (low + high) >> 1;
		if (toMsOf(await open(objects[middle]!)) < timeMs) low = middle + 1;
		else high = middle;
	}
	return low;
}

async function rowIn(
	events: EventStore,
	account: string,
	object: OpenObject,
	eventID: string,
	whole: boolean,
	{ fromMs, toMs }: { fromMs: number; toMs: number },
): Promise<StoredRow | undefined> {
	for (const group of object.groups) {
		if (!mayHave(group, eventID, fromMs, toMs)) continue;
		const [row] = await events.inTurn(account, () =>
			events.reader.rows(object, group, { eventID, whole, limit: 1 }),
		);
		if (row) return row;
	}
	return undefined;
}

function mayHave(
	group: OpenGroup,
	id: string,
	fromMs: number,
	toMs: number,
): boolean {
	const { ids } = group;
	return (
		group.toMs >= fromMs &&
		group.fromMs <= toMs &&
		ids.from <= id &&
		ids.to >= id
	);
}

function fromMsOf({ groups }: OpenObject): number {
	return groups[0]?.fromMs ?? 0;
}

function toMsOf({ groups }: OpenObject): number {
	return groups.at(-1)?.toMs ?? 0;
}
