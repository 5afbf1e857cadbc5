import { expect, test } from "vitest";
import type { SourceLedger } from "../../packages/contracts/ledger.ts";
import { withLedger } from "./ledgers.ts";

const ledger = (archived: number, shard?: number): SourceLedger => ({
	version: 1,
	account: "shop",
	sourceKey: "a",
	...(shard !== undefined && { shard }),
	firstEventDate: "2026-03-31",
	lastEventTime: "2026-03-31T12:00:00Z",
	archivedThrough: "2026-03-31T12:00:00Z",
	archived: { "2026-03-31": archived },
});

test("a later ledger replaces what stood under its key, and its shard's under another one: NATS may have been rebuilt", () => {
	const before: [string, SourceLedger][] = [
		["a", ledger(1, 1)],
		["a.0", ledger(2, 0)],
		["a.2", ledger(3, 2)],
	];
	const after = withLedger(before, "a", ledger(5, 0));
	expect([...after]).toEqual([
		["a", ledger(5, 0)],
		["a.2", ledger(3, 2)],
	]);
});

test("a ledger from before Sources had several shards is replaced under its key alone", () => {
	const after = withLedger([["a", ledger(1)]], "a.1", ledger(5, 1));
	expect([...after.values()]).toEqual([ledger(1), ledger(5, 1)]);
});
