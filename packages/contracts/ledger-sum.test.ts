import { expect, test } from "vitest";
import { type Deviations, type SourceLedger, sumOfLedgers } from "./ledger.ts";

const former: SourceLedger = {
	version: 1,
	account: "shop",
	sourceKey: "a",
	shard: 0,
	firstEventDate: "2026-03-01",
	lastEventTime: "2026-03-02T10:00:00.000Z",
	archivedThrough: "2026-03-02T10:00:01.000Z",
	archived: { "2026-03-01": 3, "2026-03-02": 4 },
	quarantined: { "2026-03-01": 1 },
};
const current: SourceLedger = {
	...former,
	shard: 1,
	firstEventDate: "2026-03-02",
	lastEventTime: "2026-03-03T10:00:00.000Z",
	archivedThrough: "2026-03-03T10:00:01.000Z",
	archived: { "2026-03-02": 5, "2026-03-03": 6 },
	quarantined: {},
};

test("a Source that has moved has the events of all its shards", () => {
	expect(sumOfLedgers([current, former])).toEqual({
		version: 1,
		account: "shop",
		sourceKey: "a",
		firstEventDate: "2026-03-01",
		lastEventTime: "2026-03-03T10:00:00.000Z",
		archivedThrough: "2026-03-03T10:00:01.000Z",
		archived: { "2026-03-01": 3, "2026-03-02": 9, "2026-03-03": 6 },
		quarantined: { "2026-03-01": 1 },
	});
	expect(sumOfLedgers([former])).toEqual(former);
	expect(sumOfLedgers([])).toBeUndefined();
});

test("a date that one shard would no longer count doesn't count because the Source has left another", () => {
	const deviations = (lastEventTime: string): Deviations => ({
		entries: [
			{ kind: "TypeMismatch", annotated: 2, quarantined: 0, lastEventTime },
		],
	});
	const sumAt = (day: string) => {
		const lastEventTime = `${day}T10:00:00.000Z`;
		return sumOfLedgers([
			{ ...former, deviations: deviations(former.lastEventTime) },
			{
				...current,
				lastEventTime,
				archivedThrough: lastEventTime,
				archived: { [day]: 1 },
				deviations: deviations(lastEventTime),
			},
		])!;
	};
	const kept = sumAt("2026-04-01");
	expect(kept.archived).toEqual({ "2026-03-02": 4, "2026-04-01": 1 });
	expect(kept.quarantined).toBeUndefined();
	expect(kept.deviations!.entries[0]!.annotated).toBe(4);
	const later = sumAt("2026-04-02");
	expect(later.archived).toEqual({ "2026-04-02": 1 });
	expect(later.deviations!.entries[0]!.annotated).toBe(2);
	expect(later.firstEventDate).toBe("2026-03-01");
});
