import type {
	EventAnswer,
	FoundEvent,
} from "../../../packages/contracts/stored-event.ts";
import { utcDate } from "../../../packages/contracts/utc-date.ts";
import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import type { CutRecord } from "../../archive/decide/cut.ts";
import { timeOfEventID } from "../../wire/frame-event.ts";
import type { ArchivedSource, EventObject } from "./date-objects.ts";
import { type EventStore, rowStates } from "./event-store.ts";
import {
	afterItsTime,
	amongImported,
	atItsTime,
	disorderMs,
	type EventMatch,
	type EventQuery,
	type TimedSearch,
} from "./object-search.ts";
import { type StoredRow, storedEvent } from "./row.ts";

const sourcesAtOnce = 4;
/** After this time the search among imported events ends, and so does that for an event that is later than its ID. */
const searchMs = 6_000;

type Found = { event: FoundEvent; body?: Uint8Array };

/**
 * Looks for one event: in the stream's frames of the time that its ID has, and in the objects of that date. The objects' cuts
 * are almost in the order of time, so a few footers lead to the one that has it.
 */
export async function findEvent(
	events: EventStore,
	wanted: EventQuery,
): Promise<{ answer: EventAnswer; body?: Uint8Array | undefined }> {
	const { id, keyMs } = wanted;
	const idMs = timeOfEventID(id) ?? 0;
	const [from, to] = [utcDate(idMs), utcDate(idMs + keyMs)];
	const imported: TimedSearch = { untilMs: Infinity, isCut: false };
	const later: TimedSearch = { untilMs: Infinity, isCut: false };
	const found =
		(await inFrames(events, wanted, idMs)) ??
		(await inObjects(events, wanted, (source) =>
			atItsTime(events, source, wanted, idMs),
		)) ??
		(await inObjects(events, wanted, (source) =>
			amongImported(events, source, wanted, idMs, begun(imported)),
		)) ??
		(keyMs > 0
			? await inObjects(events, wanted, (source) =>
					afterItsTime(events, source, wanted, idMs, begun(later)),
				)
			: undefined);
	const isCut = imported.isCut || later.isCut;
	return {
		answer: {
			ok: true,
			...(found && { event: found.event }),
			searched: { from, to, ...(isCut && { isCut: true }) },
		},
		body: found?.body,
	};
}

function begun(search: TimedSearch): TimedSearch {
	if (search.untilMs === Infinity)
		search.untilMs = performance.now() + searchMs;
	return search;
}

async function inFrames(
	events: EventStore,
	{ account, sourceKeys, id, whole, keyMs }: EventQuery,
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
				state: row.state!,
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

async function inObjects(
	events: EventStore,
	{ account, sourceKeys }: EventQuery,
	search: (source: ArchivedSource) => Promise<EventMatch | undefined>,
): Promise<Found | undefined> {
	let found: { source: ArchivedSource; place: EventMatch } | undefined;
	await mapConcurrently(sourceKeys, sourcesAtOnce, async (sourceKey) => {
		const source = events.archived(account, sourceKey);
		const place = found ? undefined : await search(source);
		if (place) found = { source, place };
	});
	return found && described(events, found.source, found.place);
}

async function described(
	events: EventStore,
	source: ArchivedSource,
	{ object, row }: EventMatch,
): Promise<Found> {
	const { key, isOfOneCut } = object;
	const place = cutOfRow(row, object);
	const cut = place && (await readCut(events, place));
	const [known] = await rowStates(events, source, object, [row]);
	const { state, added } = known!;
	return foundOf(row, {
		sourceKey: source.sourceKey,
		state,
		stage: "Bucket",
		...(cut &&
			isOfOneCut && {
				frames: { stream: cut.stream, first: cut.first, last: cut.last },
			}),
		object: key,
		storedTime: storedTimeOf(row, object, cut),
		...(added && {
			released: {
				time: new Date(added.timeMs).toISOString(),
				object: added.key,
			},
		}),
	});
}

/** Where a cut's record is. */
export type CutPlace = Pick<EventObject, "stream" | "first">;

/**
 * The cut that has an object's row; the latest that may have it, where several cuts of a compacted object have rows of before and
 * after its time. Undefined if nothing says it.
 */
export function cutOfRow(
	{ timeMs }: StoredRow,
	{ stream, first, isOfOneCut, cuts }: EventObject,
): CutPlace | undefined {
	if (isOfOneCut) return { stream, first };
	return cuts?.findLast(
		({ fromMs, toMs }) => fromMs <= timeMs && timeMs <= toMs,
	);
}

/** Undefined if its record is gone. */
export async function readCut(
	events: EventStore,
	{ stream, first }: CutPlace,
): Promise<CutRecord | undefined> {
	const { store } = events.options;
	const text = await store.get(store.keys.cut(stream, first));
	return text === undefined ? undefined : (JSON.parse(text) as CutRecord);
}

/**
 * When an object's row was stored: when it was received, but no earlier than its cut's first frame and no later than the last, since
 * a Run may have its snapshot in the middle of a cut. Where no cut is known, the latest time that it can have been.
 */
export function storedTimeOf(
	{ timeMs }: StoredRow,
	{ importedMs }: EventObject,
	cut: CutRecord | undefined,
): string {
	if (!cut) return new Date(importedMs ?? timeMs + disorderMs).toISOString();
	const { firstFrame, lastFrame } = cut;
	if (timeMs <= Date.parse(firstFrame.time)) return firstFrame.time;
	if (timeMs >= Date.parse(lastFrame.time)) return lastFrame.time;
	return new Date(timeMs).toISOString();
}

function foundOf(
	row: StoredRow,
	{
		state,
		...place
	}: Omit<FoundEvent, keyof ReturnType<typeof storedEvent>> &
		Pick<FoundEvent, "state">,
): Found {
	const { violations: _, ...head } = storedEvent(row, state);
	const { validation, headers, body } = row;
	const { plan, version, violations, more } = validation ?? {};
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
