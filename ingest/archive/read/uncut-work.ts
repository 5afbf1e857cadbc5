import type { CutSource } from "../decide/cut.ts";
import type { UncutFrames } from "./frame-queue.ts";

/** Where a session is in its stream, between two cuts. */
export interface SessionPosition {
	stream: string;
	/** The first sequence of the next cut. */
	next: number;
	uncut: UncutFrames;
	/** Of a cut by size. */
	cutBytes: number;
}

/**
 * What a source has in no cut yet, as files of the kind that the cut's objects will be. The ledger of that moment has all that
 * comes before: the cuts before `first`.
 */
export interface UncutFiles {
	stream: string;
	/** The first sequence of the next cut. */
	first: number;
	/** No event of the source through this sequence is missing. */
	last: number;
	/** By date: what counts as its rows. */
	files: { date: string; rows: number; body: Uint8Array }[];
}

/** Work of others on frames that no cut has. The session does it between two cuts: then the ledger and the frames are of the same moment. */
export interface UncutWork {
	/** For this an archiver that stands by is to be at work. */
	readonly isWaiting: boolean;
	/** Whether {@link work} would do something now. */
	isDue(position: SessionPosition): boolean;
	/**
	 * Throws {@link file://./standby.ts CutConflict} if another archiver has cut some of the frames: they are known once those cuts are.
	 * @param read the source's events that no cut has. Meanwhile none is cut or freed.
	 */
	work(
		position: SessionPosition,
		read: (source: CutSource) => Promise<UncutFiles>,
	): Promise<void>;
	/** The shard has stopped for good. */
	stop(): void;
}
