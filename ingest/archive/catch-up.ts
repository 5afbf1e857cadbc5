import { jetstreamManager, type StreamAPI } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { framesSubject } from "../../packages/contracts/nats.ts";
import type { Logger } from "../../packages/service/log.ts";
import { type CutRecord, inheritNumbers, lostCut } from "./decide/cut.ts";
import { ofEarlierStreams } from "./decide/frame-numbers.ts";
import { type FormerStream, formerStream } from "./decide/left-frames.ts";
import { describeLoss } from "./decide/loss.ts";
import { type ResumePosition, resume } from "./decide/resume.ts";
import type { ShardLedger } from "./ledger/shard-ledger.ts";
import {
	type CutLossStore,
	isSettled,
	mayHold,
	reportLosses,
	settleCut,
} from "./losses.ts";
import { PositionLost } from "./read/frame-queue.ts";
import { firstHeld, readStreamAt, sequencesOf } from "./read/shard-stream.ts";
import type { CutStore } from "./write/cut-store.ts";
import type { NatsProgress } from "./write/nats-progress.ts";
import type { Tombstones } from "./write/tombstones.ts";

/** A stream's chain of cuts: what its next cut builds on. */
export interface CutChain {
	stream: string;
	/** The newest cut; undefined before the first. */
	head: CutRecord | undefined;
	/** Frame numbers that the shard's earlier streams left behind. */
	inherited: CutRecord["processes"];
	/** Before the first cut: the stream before this one, if it may have held more than was cut. */
	former?: FormerStream;
}

/**
 * Learns the cuts that this archiver or another has made since `known`, and where archiving goes on. Purges frames whose
 * objects are all in the store.
 * Throws {@link Alarm} if the stream isn't the one that was cut, and {@link PositionLost} once it has recorded that
 * sequences are lost, or while another archiver may be finishing a cut whose frames are gone.
 */
export async function catchUp(
	stream: string,
	known: CutChain | undefined,
	options: {
		connection: NatsConnection;
		shard: number;
		cuts: CutStore;
		losses: CutLossStore;
		ledger: ShardLedger;
		tombstones: Tombstones;
		progress: NatsProgress;
		log: Logger;
	},
): Promise<{
	chain: CutChain;
	position: ResumePosition;
	/** The stream's last sequence. */
	lastSequence: number;
}> {
	const { connection, shard, cuts, ledger, tombstones, progress, log } =
		options;
	const { streams } = await jetstreamManager(connection, { checkAPI: false });
	const before = known?.stream === stream ? known : undefined;
	// Both are read before the cuts are listed: see resume().
	const { state, ts } = await streams.info(stream);
	const { first_seq: firstSequence } = state;
	const objectsDone = await progress.objectsDone(stream);
	await tombstones.refresh();
	await ledger.begin();
	const added = before
		? cuts.ofStream(stream, before.head)
		: cuts.ofShard(shard, ledger.index.newestOfStream);
	let inherited = before?.inherited ?? {};
	// Only the newest cut of a stream can lack objects, so the others are learned as they come: they may be millions.
	const newest = new Map<string, CutRecord>();
	if (before?.head) newest.set(stream, before.head);
	for await (const cut of added) {
		const earlier = newest.get(cut.stream);
		if (earlier) ledger.learn(earlier);
		newest.set(cut.stream, cut);
		if (cut.stream !== stream)
			inherited = inheritNumbers([{ processes: inherited }, cut]);
	}
	inherited = ofEarlierStreams(inherited);
	const head = newest.get(stream);
	newest.delete(stream);
	const ofOthers = [...newest.values()];
	const former = head
		? undefined
		: (before?.former ?? (await formerOf(streams, ofOthers)));
	const atHead = await readStreamAt(streams, stream, head?.last);
	const subject = framesSubject(shard);
	const next = (head?.last ?? 0) + 1;
	const heldFrom = await firstHeld(streams, stream, subject, next);
	const position = resume(
		stream,
		head,
		{ firstSequence, heldFrom, ...atHead },
		objectsDone,
	);
	const losses = await options.losses.ofShard(shard);
	// Nobody reads the shard's earlier streams any more.
	const doubtful = [...ofOthers];
	// Archive purges frames after it has said that their objects are done. Here somebody else has.
	if (head && firstSequence > head.first && objectsDone < head.last)
		doubtful.push(head);
	for (const cut of doubtful) {
		const learned = ledger.index.newestOfStream.get(cut.stream)?.last ?? 0;
		if (cut.last <= learned || isSettled(cut, losses)) continue;
		const isHeld = mayHold(cut, await sequencesOf(streams, cut.stream));
		const loss = await settleCut(cut, isHeld, { ...options, natsTime: ts! });
		if (loss) losses.push(loss);
	}
	if (position.lost) {
		const time = new Date().toISOString();
		const loss = { kind: "sequences", ...position.lost, time } as const;
		const cut = lostCut(stream, loss, head, inherited);
		if ((await cuts.decide(cut)) === cut) reportLosses(shard, cut, log);
		throw new PositionLost(`stream ${stream}: ${describeLoss(loss)}`);
	}
	for (const cut of ofOthers) ledger.learn(cut);
	if (head && !position.unfinished) ledger.learn(head);
	ledger.lose(losses);
	// Until a cut says so, or receive says what was in it.
	if (former) ledger.miss(former);
	if (firstSequence < position.from)
		await streams.purge(stream, { seq: position.from });
	ledger.forgetDeleted();
	const chain = { stream, head, inherited, ...(former && { former }) };
	const { lastSequence } = atHead;
	return { chain, position, lastSequence };
}

/** The latest of the other streams, unless NATS still has it and all of it is cut. */
async function formerOf(
	streams: StreamAPI,
	ofOthers: readonly CutRecord[],
): Promise<FormerStream | undefined> {
	const former = formerStream(ofOthers);
	const there = former && (await sequencesOf(streams, former.stream));
	return there && there.lastSequence <= former.last ? undefined : former;
}
