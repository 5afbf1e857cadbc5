import type {
	ReleaseAnswer,
	ReleaseRequest,
} from "../../../packages/contracts/archive.ts";
import { releaseSubject } from "../../../packages/contracts/nats.ts";
import type { UtcDate } from "../../../packages/contracts/utc-date.ts";
import type { FairLimit } from "../../../packages/fair/fair-limit.ts";
import type { IndexedObject } from "../../archive/ledger/date-objects.ts";
import { ErasureStore } from "../erasure/erasure-store.ts";
import type { LakeContext } from "../request/context.ts";
import type { LakeShard } from "../request/lake-shard.ts";
import { readReleaseRequest } from "../request/requests.ts";
import { requireTurn, requireUndeletedNow } from "../request/requirements.ts";
import type { LakeQuestion, RequestTask } from "../request/responder.ts";
import { flushShares, objectsIn } from "../request/shares.ts";
import { DateLedgers } from "../retention/date-ledgers.ts";
import { DateRelease } from "./date-release.ts";
import type { ReleasedLedgers } from "./released-ledgers.ts";

/** More than operator asks for at once. Archive isn't told of an Operation that is deleted, so its release still waits. */
const maxWaiting = 16;

/** Answers operator's requests to release events of one shard's sources (packages/contracts/archive.ts). */
export function answerReleases(
	context: LakeContext,
	shard: LakeShard,
	released: Pick<ReleasedLedgers, "publish">,
): LakeQuestion<ReleaseRequest> {
	return {
		subject: releaseSubject(shard.number),
		read: readReleaseRequest,
		async answer(request, task): Promise<ReleaseAnswer> {
			const dates = await release(context, shard, request, task);
			const { operation, account, sourceKey } = request;
			await released.publish({ account, sourceKey });
			const { log } = context;
			log.info({ operation, account, sourceKey, dates }, "released events");
			return { ok: true, dates };
		},
	};
}

async function release(
	{ store, scratch, tombstones, changing }: LakeContext,
	shard: LakeShard,
	{ operation, account, sourceKey, start, end, filter }: ReleaseRequest,
	task: RequestTask,
): ReturnType<typeof releaseInTurns> {
	const source = { account, sourceKey };
	const erasures = new ErasureStore(store);
	const erasedBefore = await erasures.count(source);
	const { shares } = await flushShares(shard, source, task);
	const partOptions = {
		store,
		scratch,
		signal: task.stopping,
		idle: async () => {
			await requireUndeletedNow(tombstones, source);
			await erasures.requireCount(source, erasedBefore, "the Release began");
		},
	};
	const apart = new Map<UtcDate, Iterable<IndexedObject>>();
	for (const date of shares.flatMap((share) => [...share.quarantined.keys()])) {
		const objects = objectsIn(shares, "quarantined", date);
		if (objects) apart.set(date, objects);
	}
	const earlier = new DateLedgers(store);
	for (const date of await earlier.datesOf(source)) {
		if (date < start || date > end || apart.has(date)) continue;
		const { quarantined } = await earlier.require({ ...source, date });
		const objects = quarantined();
		if (objects) apart.set(date, objects);
	}
	const wanted = [...apart.keys()]
		.filter((date) => date >= start && date <= end)
		.sort();
	return releaseInTurns(account, wanted, changing, task, (date) => {
		const folder = { account, sourceKey, date };
		const objects = apart.get(date) ?? [];
		return new DateRelease(partOptions, {
			folder,
			operation,
			filter,
			objects,
		});
	});
}

/** The release of one date. */
export interface DateParts {
	/** Releases one part. Returns whether any are left. */
	next(): Promise<boolean>;
	/** Of all parts. */
	readonly events: number;
}

/**
 * Releases events of these dates, one part of a date in each turn of the account: a release takes memory and a processor,
 * which cutting needs. Returns the dates that had matching events, and how many. Throws {@link RequestFailure} ArchiveBusy
 * if too many releases of the account wait.
 */
export async function releaseInTurns(
	account: string,
	dates: readonly UtcDate[],
	turns: FairLimit,
	task: RequestTask,
	begin: (date: UtcDate) => DateParts,
): Promise<{ date: UtcDate; events: number }[]> {
	requireTurn(turns, account, maxWaiting, "releases");
	const released: { date: UtcDate; events: number }[] = [];
	for (const date of dates) {
		let parts: DateParts | undefined;
		for (let isLeft = true; isLeft; ) {
			task.progress = () => `waiting for other releases; ${date} is next`;
			isLeft = await turns.run(account, () => {
				task.stopping.throwIfAborted();
				task.progress = () => `releasing events of ${date}`;
				parts ??= begin(date);
				return parts.next();
			});
		}
		const { events } = parts!;
		if (events > 0) released.push({ date, events });
	}
	return released;
}
