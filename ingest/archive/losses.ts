import type { Logger } from "../../packages/service/log.ts";
import type { CutRecord } from "./decide/cut.ts";
import { type CutLoss, describeLoss, type Loss } from "./decide/loss.ts";
import type { CutLossStore } from "./losses/cut-loss-store.ts";
import { expectedGroups, lossOf, stateOfCut } from "./losses/cut-state.ts";
import { PositionLost } from "./read/frame-queue.ts";
import type { Tombstones } from "./write/tombstones.ts";

/**
 * Settles a cut that this archiver can't finish: decides for all archivers which of its events are lost, if any, and tells
 * the log. Returns that decision; undefined if there is nothing to decide, since the events have expired or are deleted, or
 * the stream still holds their frames.
 * Throws {@link PositionLost} while another archiver may be writing the objects.
 * @param isHeld Whether the stream may hold the cut's frames. Read before this is called.
 */
export async function settleCut(
	cut: CutRecord,
	isHeld: boolean,
	options: {
		shard: number;
		losses: CutLossStore;
		tombstones: Tombstones;
		log: Logger;
	},
): Promise<CutLoss | undefined> {
	const { shard, losses, tombstones, log } = options;
	const { stream, first, last } = cut;
	const nowMs = Date.now();
	const expected = expectedGroups(cut, (group) => tombstones.has(group), nowMs);
	if (expected.length === 0) return undefined;
	const missing = await losses.missing(cut, expected);
	const ageMs = nowMs - (await losses.decidedMs(cut));
	const state = stateOfCut({ missing: missing.length, isHeld, ageMs });
	const name = `the cut of sequences ${first} to ${last} of stream ${stream}`;
	if (state === "awaited")
		throw new PositionLost(
			`NATS has lost ${name}, and another archiver may be writing its objects`,
		);
	if (state === "held") {
		log.error(
			{ shard, stream, first, last },
			`${name} isn't finished, and Runs that need it fail with ObjectMissing. The stream still holds its frames, but the shard has another stream. Delete the stream that was left to give them up, run \`tidemill ledger rebuild\` and restart archive`,
		);
		return undefined;
	}
	const own = lossOf(cut, missing, new Date(nowMs).toISOString());
	const decided = await losses.decide(own);
	if (decided === own && missing.length > 0)
		reportLosses(shard, { stream, losses: [decided.loss] }, log);
	return decided;
}

/** Tells the log. The metric and the ledger follow from the records. */
export function reportLosses(
	shard: number,
	{ stream, losses = [] }: { stream: string; losses?: readonly Loss[] },
	log: Logger,
): void {
	for (const loss of losses)
		log.error(
			{ shard, stream, loss },
			`ALARM: stream ${stream}: ${describeLoss(loss)}. Archive goes on without them`,
		);
}
