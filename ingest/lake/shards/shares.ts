import type { SharedDate } from "../../../packages/contracts/archive.ts";
import type { UtcDate } from "../../../packages/contracts/utc-date.ts";
import {
	DateObjects,
	type IndexedObject,
} from "../../archive/ledger/date-objects.ts";
import type { IndexedSource } from "../../archive/ledger/ledger-index.ts";

/** What one shard has of a source. */
export type Share = Pick<
	IndexedSource,
	"firstEventDate" | "objects" | "quarantined"
>;

type Kind = "objects" | "quarantined";

/** NATS takes 8 MiB, and one date is less than one. */
const maxPageBytes = 4 * 1024 ** 2;

/** The dates of a share from one on, and the date that the next page begins with. */
export function pageOf(
	share: Share,
	from: UtcDate = "",
): { dates: SharedDate[]; next?: UtcDate } {
	const all = [...share.objects.keys(), ...share.quarantined.keys()];
	const dates: SharedDate[] = [];
	let bytes = 0;
	for (const date of [...new Set(all)].sort()) {
		if (date < from) continue;
		if (bytes > maxPageBytes) return { dates, next: date };
		const shared = {
			date,
			objects: [...(share.objects.get(date)?.packed() ?? [])],
			quarantined: [...(share.quarantined.get(date)?.packed() ?? [])],
		};
		for (const [, packed] of [...shared.objects, ...shared.quarantined])
			bytes += packed.length;
		dates.push(shared);
	}
	return { dates };
}

/** What {@link pageOf} made pages of. */
export function shareOf(firstEventDate: UtcDate, dates: SharedDate[]): Share {
	const byDate = (kind: Kind) =>
		new Map(
			dates
				.filter((shared) => shared[kind].length > 0)
				.map((shared) => [shared.date, DateObjects.unpacked(shared[kind])]),
		);
	return {
		firstEventDate,
		objects: byDate("objects"),
		quarantined: byDate("quarantined"),
	};
}

/** A source's objects of a date in all shards, as they are when they are asked for; undefined if there are none. */
export function objectsIn(
	shares: readonly Share[],
	kind: Kind,
	date: UtcDate,
): IndexedObject[] | undefined {
	const found = shares.flatMap((share) => [...(share[kind].get(date) ?? [])]);
	return found.length > 0 ? found : undefined;
}
