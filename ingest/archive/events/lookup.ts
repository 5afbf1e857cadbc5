import type {
	EventAnswer,
	FoundEvent,
} from "../../../contracts/stored-event.ts";
import { datesBetween, utcDate } from "../../../contracts/utc-date.ts";
import { mapConcurrently } from "../concurrency/map-concurrently.ts";
import type { CutRecord } from "../decide/cut.ts";
import type { IndexedSource } from "../ledger/ledger-index.ts";
import type { EventObject } from "./date-objects.ts";
import { timeOfEventID } from "./event-id-time.ts";
import type { EventStore } from "./event-store.ts";
import type { OpenGroup, OpenObject } from "./object-reader.ts";
import { releasedRows } from "./released-rows.ts";
import { type EventRow, storedEvent } from "./rows/row.ts";

export interface Wanted {
	account: string;
	sourceKeys: readonly string[];
	id: string;
	/** With body and captured headers. */
	whole: boolean;
	/** How much later than its ID the event may be. */
	keyMs: number;
}

/**
 * How far the order of cuts and of times may differ: a frame is published within 60 s of its oldest event, and receivers'
 * clocks differ by 30 s at most from NATS's.
 */
const disorderMs = 2 * 60_000;
const sourcesAtOnce = 4;
const opensAtOnce = 8;
/** After this time the search for an event that is later than its ID ends. */
const searchMs = 6_000;

type Found = { event: FoundEvent; body?: Uint8Array };

/**
 * Looks for one event: in the stream's frames of the time that its ID has, and in the objects of that date. The objects' cuts
 * are almost in the order of time, so a few footers lead to the one that has it.
 */
export async function findEvent(
	events: EventStore,
	wanted: Wanted,
): Promise<{ answer: EventAnswer; body?: Uint8Array | undefined }> {
	const { id, keyMs } = wanted;
	const idMs = timeOfEventID(id) ?? 0;
	const [from, to] = [utcDate(idMs), utcDate(idMs + keyMs)];
	const found =
		(await inFrames(events, wanted, idMs)) ??
		(await inObjects(events, wanted, (source) =>
			atItsTime(events, source, wanted, idMs),
		)) ??
		(keyMs > 0
			? await inObjects(events, wanted, (source) =>
					afterItsTime(events, source, wanted, idMs),
				)
			: undefined);
	return {
		answer: {
			ok: true,
			...(found && { event: found.event }),
			searched: { from, to },
		},
		body: found?.body,
	};
}

async function inFrames(
	events: EventStore,
	{ account, sourceKeys, id, whole, keyMs }: Wanted,
	idMs: number,
): Promise<Found | undefined> {
	const { stream, done, last } = await events.ends();
	if (done >= last) return undefined;
	const wanted = {
		stream,
		from: done + 1,
		to: last,
		sinceMs: idMs - disorderMs,
	};
	const choice = { account, sourceKeys, eventID: id, whole, limit: 1 };
	for await (const { rows, lastMs } of events.buffered(wanted, choice)) {
		const [row] = rows;
		if (row) {
			const { sequence, storedMs, sourceKey } = row;
			return foundOf(row, {
				sourceKey: sourceKey!,
				state: row.quarantined ? "quarantined" : "accepted",
				stage: "Buffer",
				frames: { stream, first: sequence!, last: sequence! },
				storedTime: new Date(storedMs!).toISOString(),
			});
		}
		if (lastMs !== undefined && lastMs > idMs + keyMs + disorderMs)
			return undefined;
	}
	return undefined;
}

interface Place {
	object: EventObject;
	row: EventRow;
}

async function inObjects(
	events: EventStore,
	{ account, sourceKeys }: Wanted,
	search: (source: IndexedSource) => Promise<Place | undefined>,
): Promise<Found | undefined> {
	let found: { source: IndexedSource; place: Place } | undefined;
	await mapConcurrently(sourceKeys, sourcesAtOnce, async (sourceKey) => {
		const source = events.archived(account, sourceKey);
		const place = source && !found && (await search(source));
		if (place) found = { source, place };
	});
	return found && described(events, found.source, found.place);
}

async function atItsTime(
	events: EventStore,
	source: IndexedSource,
	wanted: Wanted,
	idMs: number,
): Promise<Place | undefined> {
	for (const quarantined of [false, true]) {
		const date = utcDate(idMs);
		const objects = await events.objects.ofDate(source, date, quarantined);
		const found = await inOrderedObjects(events, objects, wanted, idMs);
		if (found) return found;
	}
	return undefined;
}

/** Looks where the time should be, and then around it. */
async function inOrderedObjects(
	events: EventStore,
	objects: readonly EventObject[],
	{ account, id, whole }: Wanted,
	idMs: number,
): Promise<Place | undefined> {
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
	const look = async (object: EventObject): Promise<Place | undefined> => {
		const { groups, ...rest } = await open(object);
		const row = await rowIn(events, account, { groups, ...rest }, id, whole, {
			fromMs: idMs,
			toMs: idMs,
		});
		return row && { object, row };
	};
	let [low, high] = [0, objects.length];
	while (low < high) {
		const middle = (low + high) >> 1;
		if (toMsOf(await open(objects[middle]!)) < idMs) low = middle + 1;
		else high = middle;
	}
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
async function afterItsTime(
	events: EventStore,
	source: IndexedSource,
	{ account, id, whole, keyMs }: Wanted,
	idMs: number,
): Promise<Place | undefined> {
	const untilMs = performance.now() + searchMs;
	const times = { fromMs: idMs, toMs: idMs + keyMs };
	for (const date of datesBetween(utcDate(idMs), utcDate(idMs + keyMs)))
		for (const quarantined of [false, true]) {
			const objects = await events.objects.ofDate(source, date, quarantined);
			for (let at = 0; at < objects.length; at += opensAtOnce) {
				if (performance.now() > untilMs) return undefined;
				const some = objects.slice(at, at + opensAtOnce);
				const opened = await events.inTurn(account, () =>
					mapConcurrently(some, opensAtOnce, ({ key }) =>
						events.reader.open(key),
					),
				);
				for (const [index, object] of some.entries()) {
					const args = [opened[index]!, id, whole, times] as const;
					const row = await rowIn(events, account, ...args);
					if (row) return { object, row };
				}
			}
		}
	return undefined;
}

async function rowIn(
	events: EventStore,
	account: string,
	object: OpenObject,
	eventID: string,
	whole: boolean,
	{ fromMs, toMs }: { fromMs: number; toMs: number },
): Promise<EventRow | undefined> {
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
	const { ids = { from: id, to: id } } = group;
	return (
		group.toMs >= fromMs &&
		group.fromMs <= toMs &&
		ids.from <= id &&
		ids.to >= id
	);
}

async function described(
	events: EventStore,
	{ account, sourceKey }: IndexedSource,
	{ object, row }: Place,
): Promise<Found> {
	const { key, date, quarantined, stream, first, isOfOneCut } = object;
	const cut = isOfOneCut ? await cutOf(events, stream, first) : undefined;
	const folder = { account, sourceKey, date };
	const released = quarantined
		? (await releasedRows(events, folder, object, [row])).get(row.eventID)
		: undefined;
	return foundOf(row, {
		sourceKey,
		state: released ? "released" : quarantined ? "quarantined" : "accepted",
		stage: "Bucket",
		...(cut && { frames: { stream, first, last: cut.last } }),
		object: key,
		storedTime:
			cut?.firstFrame.time ?? new Date(row.timeMs + disorderMs).toISOString(),
		...(released && {
			released: {
				time: new Date(released.timeMs).toISOString(),
				object: released.key,
			},
		}),
	});
}

async function cutOf(events: EventStore, stream: string, first: number) {
	const { keys, store } = events.options;
	const text = await store.get(keys.cut(stream, first));
	return text === undefined ? undefined : (JSON.parse(text) as CutRecord);
}

function foundOf(
	row: EventRow,
	{
		state,
		...place
	}: Omit<FoundEvent, keyof ReturnType<typeof storedEvent>> &
		Pick<FoundEvent, "state">,
): Found {
	const { violations: _, ...head } = storedEvent(row, state);
	const { judgement, headers, body } = row;
	const { plan, version, violations, more } = judgement ?? {};
	return {
		event: {
			...head,
			...place,
			...(plan !== undefined && { plan }),
			...(version !== undefined && { planVersion: version }),
			...(violations && { violations }),
			...(more !== undefined && { otherViolations: more }),
			...(headers && { headers: JSON.parse(headers) }),
		},
		...(body && { body }),
	};
}

function fromMsOf({ groups }: OpenObject): number {
	return groups[0]?.fromMs ?? 0;
}

function toMsOf({ groups }: OpenObject): number {
	return groups.at(-1)?.toMs ?? 0;
}
