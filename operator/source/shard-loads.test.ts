import { expect, test } from "vitest";
import type { Source } from "../../crds/generated/types.ts";
import type { SourceLedger } from "../../packages/contracts/ledger.ts";
import { ShardLoads } from "./shard-loads.ts";

const now = Date.parse("2026-03-02T12:00:00Z");

/** Two shards, and Sources of namespace shop whose status may name a shard and a ledger. */
function world() {
	const sources = new Map<string, Source>();
	const ledgers = new Map<string, SourceLedger>();
	const filling = new Set<number>();
	const clock = { ms: now };
	const loads = new ShardLoads({
		shards: 2,
		sources: {
			get: (_, name) => sources.get(name),
			list: () => [...sources.values()],
		},
		ledgers: { get: (key) => ledgers.get(key) },
		backlogs: { isFilling: (shard) => filling.has(shard) },
		now: () => clock.ms,
	});
	const add = (name: string, shard?: number, archived = {}) => {
		const status = shard === undefined ? {} : { shard, sourceKey: name };
		const metadata = {
			name,
			namespace: "shop",
			uid: `${name} ${clock.ms}`,
			creationTimestamp: new Date(clock.ms).toISOString(),
		};
		sources.set(name, { metadata, status } as unknown as Source);
		ledgers.set(name, { archived } as unknown as SourceLedger);
	};
	const place = (name: string) => loads.place(sources.get(name)!);
	return { loads, clock, filling, sources, ledgers, add, place };
}

test("events of today and yesterday count, in quarantine or not", () => {
	const { loads, add } = world();
	add("a", 0, { "2026-03-02": 5, "2026-03-01": 4, "2026-02-28": 1_000 });
	add("b", 1, { "2026-03-01": 3 });
	expect(loads.count().shards.map(({ events }) => events)).toEqual([9, 3]);
});

test("Sources that were placed a moment ago count, though their status doesn't say so yet", () => {
	const { clock, add, place } = world();
	for (const name of ["a", "b", "c", "d"]) add(name);
	expect(["a", "b", "c"].map(place)).toEqual([0, 1, 0]);
	// The Secret couldn't be created, so it is asked again.
	expect(place("b")).toBe(1);
	clock.ms += 60_000;
	add("b", 1);
	expect(place("d")).toBe(1);
});

test("a Source that is gone counts no more", () => {
	const { clock, sources, add, place } = world();
	add("a");
	expect(place("a")).toBe(0);
	sources.clear();
	clock.ms += 60_000;
	add("b");
	expect(place("b")).toBe(0);
});

test("a Source without events counts as a typical one for two days, then as nothing", () => {
	const { loads, clock, ledgers, add } = world();
	add("a", 0, { "2026-03-04": 7 });
	add("b", 1);
	ledgers.delete("b");
	const events = () => loads.count().shards.map((each) => each.events);
	clock.ms += 2 * 24 * 60 * 60_000;
	expect(events()).toEqual([7, 7]);
	clock.ms++;
	expect(events()).toEqual([7, 0]);
});

test("a Source that was deleted and created again is placed anew", () => {
	const { clock, filling, add, place } = world();
	add("a");
	expect(place("a")).toBe(0);
	filling.add(0);
	clock.ms += 1_000;
	add("a");
	expect(place("a")).toBe(1);
});
