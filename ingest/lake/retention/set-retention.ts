import {
	keptFrom,
	type RetentionAnswer,
	type RetentionRequest,
	retainedDays,
} from "../../../packages/contracts/retention.ts";
import { utcDate } from "../../../packages/contracts/utc-date.ts";
import type { LakeContext } from "../request/context.ts";
import type { LakeShard } from "../request/lake-shard.ts";
import {
	requireSameClocks,
	requireUndeleted,
} from "../request/requirements.ts";
import type { Answers, RequestTask } from "../request/responder.ts";
import { flushShares } from "../request/shares.ts";
import type { RetentionKeeper } from "./retention-keeper.ts";
import { recordFor, retentionOf } from "./source-retention.ts";

/** Two archives and a sweep may write the next record at once. */
const attempts = 5;

/** Answers operator's requests to keep events of one shard's sources longer (packages/contracts/retention.ts). */
export function answerRetention(
	context: LakeContext,
	shard: LakeShard,
	keeper: RetentionKeeper,
): Answers["retention"] {
	return (request, task) => setRetention(context, shard, keeper, request, task);
}

async function setRetention(
	{ tombstones, progress, log }: LakeContext,
	shard: LakeShard,
	keeper: RetentionKeeper,
	{ days, shards, ...source }: RetentionRequest,
	task: RequestTask,
): Promise<RetentionAnswer> {
	await tombstones.refresh();
	requireUndeleted(tombstones, source);
	const { retentions } = keeper;
	// Only now the index is sure to have the source's first date.
	const flushed = await flushShares(shard, { ...source, shards }, task);
	requireSameClocks(flushed, "days that are kept would count as deleted");
	const [firstEventDate] = flushed.shares
		.map((share) => share.firstEventDate)
		.sort();
	const today = utcDate(Date.parse(flushed.time));
	for (let attempt = 1; ; attempt++) {
		const newest = await retentions.of(source);
		const record = recordFor(
			source,
			days,
			newest?.record,
			today,
			firstEventDate,
		);
		const number = (newest?.number ?? 0) + 1;
		// Before anybody relies on it: the store's rule would remove what should stay. What it can't keep leaves no record.
		const all = await retentions.all();
		const { problemOf } = await keeper.setRules(
			record ? [...all, { record, number, modifiedMs: 0 }] : all,
		);
		const wish = record ?? newest?.record;
		const problem =
			wish?.next === undefined && problemOf(wish?.days ?? retainedDays);
		if (problem) throw problem;
		if (!record || (await retentions.write(number, record))) break;
		if (attempt === attempts)
			throw new Error(`the records of ${source.sourceKey} keep changing`);
	}
	const newest = await retentions.of(source);
	const retention = newest
		? retentionOf(newest)
		: ({
				version: 1,
				...source,
				days: retainedDays,
				from: keptFrom(undefined, today),
			} as const);
	await (await progress()).setSourceRetention(retention);
	log.info(retention, "set how long a source's events stay");
	return { ok: true, retention };
}
