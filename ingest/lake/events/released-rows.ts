import type { SourceDate } from "../compaction/record.ts";
import type { ReleaseRecord } from "../release/release-store.ts";
import type { EventObject } from "./date-objects.ts";
import type { EventStore } from "./event-store.ts";
import type { EventRow } from "./row.ts";

export interface ReleasedRow {
	/** When the store took the record. */
	timeMs: number;
	/** Key of the object that has the row. */
	key: string;
}

/** Which of these rows, of one object in quarantine, were released, by event ID. */
export async function releasedRows(
	events: EventStore,
	folder: SourceDate,
	{ stream, first }: Pick<EventObject, "stream" | "first">,
	rows: readonly EventRow[],
): Promise<Map<string, ReleasedRow>> {
	const found = new Map<string, ReleasedRow>();
	if (rows.length === 0) return found;
	const { account } = folder;
	const times = rows.map(({ timeMs }) => timeMs);
	const choice = {
		fromMs: Math.min(...times),
		toMs: Math.max(...times),
		limit: Infinity,
	};
	const ids = new Set(rows.map(({ eventID }) => eventID));
	const releases = (await Array.fromAsync(events.added(folder))).flat();
	for (const { record, timeMs } of releases) {
		if (!hasRowsOf(record, stream, first)) continue;
		const object = await events.inTurn(account, () =>
			events.reader.open(record.key),
		);
		for (const group of object.groups) {
			if (group.toMs < choice.fromMs || group.fromMs > choice.toMs) continue;
			const some = await events.inTurn(account, () =>
				events.reader.rows(object, group, choice),
			);
			for (const { eventID } of some)
				if (ids.has(eventID)) found.set(eventID, { timeMs, key: record.key });
		}
	}
	return found;
}

function hasRowsOf(record: ReleaseRecord, stream: string, first: number) {
	return (
		record.stream === stream && record.first <= first && record.last >= first
	);
}
