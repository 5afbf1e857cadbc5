import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import type { Store } from "../../../packages/bucket/object-store.ts";
import type {
	Erasure,
	ErasureRequest,
} from "../../../packages/contracts/archive.ts";
import { refused } from "../../../packages/contracts/nats.ts";
import { utcDate } from "../../../packages/contracts/utc-date.ts";
import { isStreamNotFound } from "../../../packages/service/nats/connection.ts";
import { pause } from "../../../packages/service/pause.ts";
import type { LakeContext } from "../request/context.ts";
import type { LakeShard } from "../request/lake-shard.ts";
import {
	requireSameClocks,
	requireTurn,
	requireUndeletedNow,
} from "../request/requirements.ts";
import type { Answers, RequestTask } from "../request/responder.ts";
import { flushShares } from "../request/shares.ts";
import {
	type ErasureDone,
	type ErasureRecord,
	ErasureStore,
} from "./erasure-store.ts";
import { SourceErasure } from "./source-erasure.ts";

/** More than operator asks for at once. */
const maxWaiting = 16;

/** Answers operator's requests to erase events of one shard's sources (packages/contracts/archive.ts). */
export function answerErasures(
	context: LakeContext,
	shard: LakeShard,
): Answers["erasure"] {
	return async (request, task) => {
		const records = new ErasureStore(context.store);
		const { operation, account, sourceKey, erasure } = request;
		const isDryRun = erasure.mode === "Count";
		const done =
			(isDryRun ? undefined : await records.done(request)) ??
			(await erase(context, shard, request, task));
		const { places } = done;
		if (request.isLoaded) await records.forget(context.store, request);
		const what = isDryRun ? "counted what would be erased" : "erased";
		context.log.info({ operation, account, sourceKey, places }, what);
		return { ok: true, ...done };
	};
}

/** Each step can be repeated, by another archive, too. */
async function erase(
	context: LakeContext,
	shard: LakeShard,
	{ operation, account, sourceKey, shards, erasure: asked }: ErasureRequest,
	task: RequestTask,
): Promise<ErasureDone> {
	const { mode } = asked;
	const isDryRun = mode === "Count";
	const erasure: Erasure = { ...asked, mode: isDryRun ? "RemoveRow" : mode };
	const { store, scratch, tombstones, changing } = context;
	const source = { account, sourceKey };
	requireTurn(changing, account, maxWaiting, "Operations");
	const records = new ErasureStore(store);
	const flushed = await flushShares(shard, { ...source, shards }, task);
	const wrong = "the date of the erasure would be wrong";
	requireSameClocks(flushed, wrong);
	await untilPurged(shard, task);
	const wanted: ErasureRecord = {
		version: 1,
		operation,
		...source,
		erasure,
		date: utcDate(Date.parse(flushed.time)),
	};
	const first = isDryRun ? wanted : await records.ask(wanted);
	const record = { ...first, erasure };
	const inTurn = <T>(work: () => Promise<T>): Promise<T> =>
		changing.run(account, async () => {
			task.stopping.throwIfAborted();
			await requireUndeletedNow(tombstones, source);
			return work();
		});
	task.progress = () => "looking through the Source's objects";
	const today = async () => {
		const end = await shard.end();
		requireSameClocks(end, wrong);
		return utcDate(Date.parse(end.time));
	};
	const places = await SourceErasure.run(
		{ store, scratch, signal: task.stopping, inTurn, today, isDryRun },
		record,
	);
	if (isDryRun) return { places, time: (await shard.end()).time };
	// What people upload goes after three days anyway, and archive reads none of it.
	places.Uploads = await removeAll(store, store.keys.uploadsOf(account));
	places.ImportParts = await removeAll(
		store,
		store.keys.importsOfSource(source),
	);
	places.Refusals = await purgeRefusals(shard.connection, source);
	// A manifest whose snapshot is later was made later.
	const { time } = await shard.end();
	await records.setDone(record, { places, time });
	return (await records.done(record)) ?? { places, time };
}

const purgeMs = 10_000;
const pollMs = 100;

/** Frames go from the stream right after their objects are in the bucket. */
async function untilPurged(
	shard: LakeShard,
	{ stopping }: RequestTask,
): Promise<void> {
	const before = await shard.end();
	const done = shard.doneOf(before.stream) ?? before.last;
	const untilMs = performance.now() + purgeMs;
	for (;;) {
		const end = await shard.end();
		const isNew = end.stream !== before.stream;
		if (isNew || end.messages === 0 || end.first > done) return;
		if (performance.now() > untilMs) throw shard.notReady();
		await pause(pollMs, stopping);
		stopping.throwIfAborted();
	}
}

async function removeAll(store: Store, prefix: string): Promise<number> {
	const keys = await Array.fromAsync(store.list(prefix), ({ key }) => key);
	await store.remove(keys);
	return keys.length;
}

/** Nothing in them says which event they would have been. */
async function purgeRefusals(
	connection: NatsConnection,
	{ account, sourceKey }: { account: string; sourceKey: string },
): Promise<number> {
	const { streams } = await jetstreamManager(connection, { checkAPI: false });
	try {
		let count = 0;
		for (const filter of [
			refused.subject(account, sourceKey),
			// Of a receive before this version, which may still run. Goes with 0.2.0.
			`tidemill.refused.${account}.${sourceKey}`,
		])
			count += (await streams.purge(refused.stream, { filter })).purged;
		return count;
	} catch (error) {
		if (isStreamNotFound(error)) return 0;
		throw error;
	}
}
