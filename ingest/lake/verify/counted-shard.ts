import type { Store } from "../../../packages/bucket/object-store.ts";
import type { CutRecord } from "../../archive/decide/cut.ts";
import { LedgerIndex } from "../../archive/ledger/ledger-index.ts";
import { CutLossStore, isSettled, writersMs } from "../../archive/losses.ts";
import { CutStore } from "../../archive/write/cut-store.ts";
import type { Tombstones } from "../../archive/write/tombstones.ts";
import type { Replacements } from "../objects/replacements.ts";

/** Sequences of a stream between two cuts that no cut record has, though each cut begins where the one before ends. */
export interface CutGap {
	stream: string;
	from: number;
	to: number;
}

export interface CountedShard {
	number: number;
	index: LedgerIndex;
	gaps: CutGap[];
}

/**
 * What a shard has archived, by its cut records. Of a stream's newest cut the objects may be on their way: without all of them it
 * doesn't count yet, unless it is decided what it has lost.
 * @param known What a snapshot says. Then only later records are read.
 * @param overdueAtMs Count a newest cut, too, that lacks objects two minutes after its record: nobody is writing them. Only where nothing follows
 * from that for archive, which may still have the frames.
 */
export async function countShard(
	number: number,
	{
		store,
		tombstones,
		replaced,
	}: { store: Store; tombstones: Tombstones; replaced: Replacements },
	known = new LedgerIndex(),
	overdueAtMs?: number,
): Promise<CountedShard> {
	const index = known;
	const gaps: CutGap[] = [];
	const ends = new Map<string, { first: number; last: number }>(
		known.newestOfStream,
	);
	const lossStore = new CutLossStore(store, replaced);
	const losses = await lossStore.ofShard(number);
	const add = async (cut: CutRecord, isNewest: boolean) => {
		const kept = cut.groups.filter((group) => !tombstones.has(group));
		const isOverdue = async () =>
			overdueAtMs !== undefined &&
			overdueAtMs - (await lossStore.decidedMs(cut)) >= writersMs;
		if (
			!isNewest ||
			isSettled(cut, losses) ||
			(await lossStore.missing(cut, kept)).length === 0 ||
			(await isOverdue())
		)
			index.add({ ...cut, groups: kept });
	};
	let before: CutRecord | undefined;
	for await (const cut of new CutStore(store).ofShard(number, new Map(ends))) {
		if (before) await add(before, before.stream !== cut.stream);
		before = cut;
		const { stream, first } = cut;
		const end = ends.get(stream)?.last;
		if (end !== undefined && first > end + 1)
			gaps.push({ stream, from: end + 1, to: first - 1 });
		ends.set(stream, cut);
	}
	if (before) await add(before, true);
	for (const loss of losses) index.lose(loss);
	return { number, index, gaps };
}
