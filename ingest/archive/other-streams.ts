import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { mapConcurrently } from "../../packages/fair/fair-limit.ts";
import { pause } from "../../packages/service/pause.ts";
import type { CutChain } from "./catch-up.ts";
import type { OtherStreams, StreamFrame } from "./decide/cut.ts";
import { takeLeft } from "./decide/left-frames.ts";
import type { ShardLedger } from "./ledger/shard-ledger.ts";
import { PositionLost } from "./read/frame-queue.ts";
import { sequencesOf } from "./read/shard-stream.ts";
import { graceMs } from "./read/standby.ts";
import type { CutStore } from "./write/cut-store.ts";

const asksAtOnce = 16;

/** A stream that the frames tell of has a cut that this archiver doesn't know. It has to begin at the newest cuts again. */
export class ChainOutdated extends PositionLost {
	override name = "ChainOutdated";
}

/**
 * What is to be known of other streams before these frames become a cut of the chain. If the frames tell of something that no
 * cut has, another archiver may still hold that in memory: then this waits until that one has cut it, as each does at its age
 * limit. Throws {@link ChainOutdated} when it has, and NATS's errors.
 */
export async function otherStreams(
	frames: readonly StreamFrame[],
	{ stream, head, inherited, former }: CutChain,
	options: {
		connection: NatsConnection;
		cuts: CutStore;
		ledger: ShardLedger;
		/** When this stream was opened, by performance.now(). */
		openedAtMs: number;
		maxAgeMs: number;
		signal: AbortSignal;
	},
): Promise<OtherStreams> {
	const left = frames.flatMap((frame) =>
		(frame.left ?? []).filter((of) => of.stream !== stream),
	);
	const held = new Set<string>();
	const others = { held, ...(former && { former }) };
	if (left.length === 0) return others;
	const { connection, cuts, ledger, openedAtMs, maxAgeMs, signal } = options;
	const { streams } = await jetstreamManager(connection, { checkAPI: false });
	const isIn = async (name: string) => {
		if (await sequencesOf(streams, name)) held.add(name);
	};
	const names = new Set(left.map((of) => of.stream));
	await mapConcurrently([...names], asksAtOnce, isIn);
	const known = head?.processes ?? inherited;
	const lacking = left.filter(
		(of) =>
			!held.has(of.stream) &&
			takeLeft(known[of.process], of, 0).lost.length > 0,
	);
	if (lacking.length === 0) return others;
	const waitMs = openedAtMs + maxAgeMs + graceMs - performance.now();
	if (waitMs > 0) await pause(waitMs, signal);
	signal.throwIfAborted();
	for (const name of new Set(lacking.map((of) => of.stream))) {
		const newest = ledger.index.newestOfStream.get(name);
		for await (const cut of cuts.ofStream(name, newest))
			throw new ChainOutdated(
				`stream ${name}, which is gone, has another cut, at ${cut.first}`,
			);
	}
	return others;
}
