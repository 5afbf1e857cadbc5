import type { ReleaseRequest } from "../../../packages/contracts/archive.ts";
import type { UtcDate } from "../../../packages/contracts/utc-date.ts";
import type { IndexedObject } from "../../archive/ledger/date-objects.ts";
import type { AddedLedgers } from "../addition/added-ledgers.ts";
import {
	type AddedDates,
	type AdditionWork,
	addInTurns,
} from "../addition/addition-turns.ts";
import type { LakeContext } from "../request/context.ts";
import type { LakeShard } from "../request/lake-shard.ts";
import { requireUndeletedNow } from "../request/requirements.ts";
import type { Answers, RequestTask } from "../request/responder.ts";
import { flushShares, objectsIn, type ShardShare } from "../request/shares.ts";
import { DateLedgers } from "../retention/date-ledgers.ts";
import { DateRelease } from "./date-release.ts";

/** Answers operator's requests to release events of one shard's sources (packages/contracts/archive.ts). */
export function answerReleases(
	context: LakeContext,
	shard: LakeShard,
	added: Pick<AddedLedgers, "publish">,
): Answers["release"] {
	return async (request, task) => {
		const dates = await release(context, shard, request, task);
		const { operation, account, sourceKey } = request;
		await added.publish(request);
		const { log } = context;
		log.info({ operation, account, sourceKey, dates }, "released events");
		return { ok: true, dates };
	};
}

async function release(
	{ store, replaced, scratch, tombstones, changing, counted }: LakeContext,
	shard: LakeShard,
	request: ReleaseRequest,
	task: RequestTask,
): Promise<AddedDates> {
	const { operation, account, sourceKey, filter } = request;
	const countBefore = await counted.count(request);
	const { shares } = await flushShares(shard, request, task);
	const options = {
		store,
		replaced,
		scratch,
		signal: task.stopping,
		idle: async () => {
			await requireUndeletedNow(tombstones, request);
			await counted.requireCount(request, countBefore, "the Release began");
		},
	};
	const apart = await quarantined(request, shares, new DateLedgers(store));
	const dates: AddedDates = [];
	function* works(): Generator<AdditionWork> {
		for (const [date, objects] of apart) {
			const folder = { account, sourceKey, date };
			const question = { folder, operation, filter, objects };
			const parts = new DateRelease(options, question);
			yield { name: `events of ${date}`, next: () => parts.next() };
			const { events } = parts;
			if (events > 0) dates.push({ date, events });
		}
	}
	await addInTurns(account, works(), changing, task);
	return dates;
}

/** The objects in quarantine of the dates that were asked for, ascending. */
async function quarantined(
	{ account, sourceKey, start, end }: ReleaseRequest,
	shares: readonly ShardShare[],
	earlier: DateLedgers,
): Promise<[date: UtcDate, objects: Iterable<IndexedObject>][]> {
	const source = { account, sourceKey };
	const own = shares.flatMap((share) => [...share.quarantined.keys()]);
	const dates = new Set([...own, ...(await earlier.datesOf(source))]);
	const found: [UtcDate, Iterable<IndexedObject>][] = [];
	for (const date of [...dates].sort()) {
		if (date < start || date > end) continue;
		const objects =
			objectsIn(shares, "quarantined", date) ??
			(await earlier.require({ ...source, date })).quarantined();
		if (objects) found.push([date, objects]);
	}
	return found;
}
