import {
	type SourceFolder,
	type SourceName,
	sourcePath,
} from "../../../packages/bucket/object-keys.ts";
import type { Store } from "../../../packages/bucket/object-store.ts";
import { dayMs, type UtcDate } from "../../../packages/contracts/utc-date.ts";
import { loggedDays } from "../../archive/write/numbered-log.ts";
import {
	type Tombstone,
	tombstonesIn,
} from "../../archive/write/tombstones.ts";
import type { LakeContext } from "../request/context.ts";
import type { LakeShard } from "../request/lake-shard.ts";
import type { Answers } from "../request/responder.ts";
import { flushShares } from "../request/shares.ts";
import { listInParts } from "./listing.ts";

/** How long one request deletes. Operator repeats the request for the rest. */
const sliceMs = 15_000;

/**
 * Deletes sources of one shard for operator (packages/contracts/archive.ts). Any archive can repeat every step. A request that
 * finds everything deleted changes nothing.
 */
export function answerDeletions(
	context: LakeContext,
	shard: LakeShard,
): Answers["deletion"] {
	const { tombstones, log } = context;
	return async ({ shards, ...source }, task) => {
		// The tombstone comes first: archiving leaves the source out from now on, and the sweep removes late objects.
		await tombstones.add(source);
		shard.forgetDeleted();
		const progress = await context.progress();
		await progress.setDeleted(source, Date.now());
		// Events may have been in the stream, or on their way into the store, before the tombstone.
		await flushShares(shard, { ...source, shards }, task);
		const untilMs = performance.now() + sliceMs;
		const { objects, remainsFrom } = await deleteSourceObjects(
			context,
			source,
			() => performance.now() < untilMs && !task.stopping.aborted,
		);
		const isDone = remainsFrom === undefined;
		log.info({ ...source, objects, isDone }, "deleted a source's events");
		return { ok: true, isDone, objects, ...(remainsFrom && { remainsFrom }) };
	};
}

/** A page of keys: what one S3 request lists or deletes. */
const removedAtOnce = 1_000;

/**
 * Deletes all objects with a source's events, oldest date first, while `mayGoOn`. Memory holds two pages of keys. Returns
 * how many objects it deleted and, if some are left, the date of the first of them.
 */
export async function deleteSourceObjects(
	{ store }: { store: Store },
	source: SourceName,
	mayGoOn: () => boolean,
): Promise<{ objects: number; remainsFrom?: UtcDate }> {
	let objects = 0;
	const prefixes = (isChosen: (folder: SourceFolder) => boolean) =>
		store.keys
			.sourceFolders()
			.filter(isChosen)
			.map(({ prefix }) => prefix + sourcePath(source));
	for (const prefix of prefixes(({ stays }) => stays === "WhileLoaded"))
		await removeAll(store, prefix);
	for (;;) {
		const pages: string[][] = [];
		for (const prefix of prefixes(
			({ stays, isLast }) => stays !== "WhileLoaded" && !isLast,
		))
			pages.push(await firstPage(store, prefix));
		const page = pages
			.flat()
			.sort((a, b) => (dateOf(a) < dateOf(b) ? -1 : 1))
			.slice(0, removedAtOnce);
		const [first] = page;
		if (first === undefined) break;
		if (!mayGoOn()) return { objects, remainsFrom: dateOf(first) };
		await store.remove(page);
		objects += page.length;
	}
	for (const prefix of prefixes(({ isLast }) => isLast === true))
		await removeAll(store, prefix);
	return { objects };
}

async function removeAll(store: Store, prefix: string): Promise<void> {
	await store.remove(
		await Array.fromAsync(store.list(prefix), ({ key }) => key),
	);
}

async function firstPage(store: Store, prefix: string): Promise<string[]> {
	const page: string[] = [];
	for await (const { key } of store.list(prefix))
		if (page.push(key) === removedAtOnce) break;
	return page;
}

function dateOf(key: string): UtcDate {
	return /\/date=(\d{4}-\d\d-\d\d)\//.exec(key)?.[1] ?? "";
}

/** An archiver that sleeps longer than this writes dates that retention removes. */
const sweptForMs = loggedDays * dayMs;
/** A minute's work for NATS. */
const mostToldAtOnce = 10_000;

/**
 * Keeps deleted what tombstones name, independently of the shards. An archiver that slept through a deletion may write an
 * object later, so it deletes what there is of the sources of the last weeks. A rebuilt NATS has forgotten that a source key must never be
 * used again: it tells NATS those and a part of the others, so that all have their turn. Returns how many objects of
 * deleted sources it found and deleted.
 */
export async function sweepDeleted(
	context: Pick<LakeContext, "tombstones" | "progress" | "log"> & {
		store: Store;
	},
	signal: AbortSignal,
	mostTold = mostToldAtOnce,
): Promise<number> {
	const { store, tombstones, log } = context;
	const progress = await context.progress();
	let swept = 0;
	const done = new Set<string>();
	const isYoung = ({ sinceMs }: Tombstone) =>
		Date.now() - sinceMs <= sweptForMs;
	const sweep = async ({ sinceMs, ...source }: Tombstone) => {
		done.add(store.keys.tombstone(source));
		await progress.setDeleted(source, sinceMs);
		const { objects } = await deleteSourceObjects(
			context,
			source,
			() => !signal.aborted,
		);
		swept += objects;
		if (objects > 0)
			log.info({ ...source, objects }, "swept a deleted source's events");
	};
	for await (const recent of tombstones.recent())
		if (isYoung(recent) && !done.has(store.keys.tombstone(recent)))
			await sweep(recent);
	const { keys } = store;
	await listInParts(store, "deleted-sources", [keys.tombstones()], {
		mostListed: mostTold,
		work: async (some) => {
			for await (const { sinceMs, ...source } of tombstonesIn(some)) {
				if (done.has(keys.tombstone(source))) continue;
				if (!isYoung({ sinceMs, ...source })) {
					await progress.setDeleted(source, sinceMs);
					continue;
				}
				// The archive that made it died before it told the others, or is of a version that doesn't.
				await tombstones.add(source);
				await sweep({ sinceMs, ...source });
			}
		},
	});
	return swept;
}
