import { randomUUID } from "node:crypto";
import { jetstreamManager } from "@nats-io/jetstream";
import { shardOfStream } from "../../packages/contracts/nats.ts";
import type { AlarmCode } from "../archive/decide/alarm.ts";
import {
	acceptedMark,
	judgeBucket,
	refusalOf,
} from "../archive/decide/bucket-verdict.ts";
import { lostCut } from "../archive/decide/cut.ts";
import { sequencesOf } from "../archive/read/shard-stream.ts";
import { CutStore } from "../archive/write/cut-store.ts";
import type { NatsProgress } from "../archive/write/nats-progress.ts";
import { type LedgerTools, withLedgerTools } from "./ledger-tools.ts";

/**
 * `tidemill ledger accept-bucket`: takes the bucket of archive's settings in place of the one that NATS knows, or as the older copy that it is.
 * Archives that run begin anew, since they may remember what this bucket hasn't got. It can be repeated at any time.
 */
export async function main(): Promise<number> {
	return withLedgerTools(async (tools) => {
		const { marks, place, log } = tools;
		const progress = await tools.progress();
		const known = await progress.bucket();
		const found = await marks.newest();
		const refusal = refusalOf(known, found, place);
		// If the command ends before it accepts the mark, the bucket is still refused or the shard still stopped, and it can be repeated.
		const { unrecorded, isCleared } = await settleUnrecorded(tools);
		const isSettled = unrecorded.length === 0 && !isCleared;
		if (refusal === undefined && isSettled && !(await isAwaited(progress))) {
			console.log(
				`Nothing to accept: ${place} ${known ? "is the bucket that archive uses" : "is the first bucket of this NATS, and archive takes it by itself"}.`,
			);
			return 0;
		}
		await progress.forgetCounts();
		const mark = acceptedMark(known, found, randomUUID());
		// NATS first: if this ends in between, the bucket is refused until the command is repeated.
		const accepted = new Date().toISOString();
		await progress.acceptBucket({ ...mark, accepted });
		if (!(await marks.write(mark)))
			throw new Error(
				`Another archive writes to ${place}. Stop it, then repeat the command.`,
			);
		log.warn({ known, found, mark, unrecorded }, "a bucket is accepted");
		const was =
			refusal === undefined
				? isSettled
					? "Archive had stopped a shard for records that were missing."
					: "It lacks records of what was archived."
				: judgeBucket(known, found) === "OlderCopy"
					? `It is an older copy: archive had seen number ${known!.number}, and this had ${found!.number}.`
					: `Before, archive had the bucket ${known!.id}.`;
		console.log(
			`Accepted: ${place} is archive's bucket from now on, with the id ${mark.id} and the number ${mark.number}. ${was}`,
		);
		for (const { stream, from, to, isHeld } of unrecorded)
			console.log(
				`Sequences ${from} to ${to} of stream ${stream} were archived, and this bucket has no record of them: ${isHeld ? "NATS still has them, and they are archived again" : "they count as lost"}.`,
			);
		console.log(
			"Archive begins anew with it within seconds. `tidemill ledger verify` says what else is missing.",
		);
		return 0;
	});
}

/** Whether an archive has stopped a shard for records that were missing: it must begin anew, though all is settled by now. */
async function isAwaited(progress: NatsProgress): Promise<boolean> {
	const alarm: AlarmCode = "CutsMissing";
	for (const stream of await progress.streams()) {
		const state = await progress.shardState(shardOfStream(stream)!);
		if (state?.stopped?.alarm === alarm) return true;
	}
	return false;
}

/** Sequences of a stream that were archived, and of which the bucket has no record. */
interface Unrecorded {
	stream: string;
	from: number;
	to: number;
	/** NATS still has them. */
	isHeld: boolean;
}

/**
 * Sees to what was archived and has no cut record, for all shards: what NATS still holds is archived again, and the rest is lost, by a
 * cut, as archive does with what NATS has lost. Ledger snapshots that know a record which is gone are removed: archive would look for it.
 */
async function settleUnrecorded(
	tools: LedgerTools,
): Promise<{ unrecorded: Unrecorded[]; isCleared: boolean }> {
	const { store, connect } = tools;
	const { streams } = await jetstreamManager(await connect(), {
		checkAPI: false,
	});
	const published = await tools.progress();
	const names = await published.streams();
	// First of all, since a lost cut may take the place of a record that is gone.
	const isCleared = await clearSnapshots(tools, names);
	const unrecorded: Unrecorded[] = [];
	for (const stream of names) {
		// Before the cuts: archive decides a cut first, and then says that it is done.
		const done = await published.objectsDone(stream);
		const head = await newestCut(store, stream);
		const last = head?.last ?? 0;
		if (done <= last) continue;
		const held = await sequencesOf(streams, stream);
		const before = held ? held.firstSequence - 1 : done;
		const to = Math.max(last, Math.min(done, before));
		if (to > last) {
			const time = new Date().toISOString();
			const loss = { kind: "sequences", from: last + 1, to, time } as const;
			await new CutStore(store).decide(lostCut(stream, loss, head, {}));
			unrecorded.push({ stream, from: last + 1, to, isHeld: false });
		}
		if (to < done) {
			await published.lowerObjectsDone(stream, to);
			unrecorded.push({ stream, from: to + 1, to: done, isHeld: true });
		}
	}
	return { unrecorded, isCleared };
}

/**
 * Removes the snapshots of each shard that know a record which is gone, also of streams that a new NATS has never had. Returns whether
 * there were any.
 */
async function clearSnapshots(
	{ store, snapshots, shards }: LedgerTools,
	streams: readonly string[],
): Promise<boolean> {
	const counted = await new CutStore(store).shards();
	const published = streams.map((stream) => shardOfStream(stream)!);
	let isCleared = false;
	for (const shard of new Set([...shards, ...counted, ...published])) {
		// Before the cuts: archive has a cut in a snapshot after it has decided it.
		const known = (await snapshots.newest(shard))?.newestOfStream ?? [];
		for (const [stream, { first }] of known) {
			if (first <= ((await newestCut(store, stream))?.first ?? 0)) continue;
			await snapshots.clear(shard);
			isCleared = true;
			break;
		}
	}
	return isCleared;
}

async function newestCut(store: LedgerTools["store"], stream: string) {
	let newest: string | undefined;
	for await (const { key } of store.list(store.keys.cutsOfStream(stream)))
		newest = key;
	if (newest === undefined) return undefined;
	const first = Number(/(\d+)\.json$/.exec(newest)?.[1]);
	const read = new CutStore(store).ofStream(stream, { first: first - 1 });
	return (await Array.fromAsync(read)).at(-1);
}
