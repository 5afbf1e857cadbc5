import { extname } from "node:path";
import {
	LimitedThread,
	type ThreadLimits,
} from "../../../packages/service/limited-thread.ts";
import type { RowGroup } from "./object-rows.ts";
import type {
	FrameMessage,
	FramesChoice,
	RowChoice,
	StoredRow,
} from "./row.ts";

export type ReadQuestion =
	| { group: RowGroup; choice: RowChoice }
	| { frames: readonly FrameMessage[]; choice: FramesChoice };

export type ReadAnswer = { rows: StoredRow[] } | { fault: string };

/**
 * Takes rows out of objects and frames in a thread with limits of time and memory: to unpack a row group takes up to a
 * hundred milliseconds, in which archive's own loop would neither cut nor answer.
 */
export class RowThread {
	readonly #thread: LimitedThread<ReadQuestion, ReadAnswer>;

	constructor(limits: ThreadLimits = { cpuMs: 5_000, maxMegabytes: 256 }) {
		// The image has JavaScript in place of TypeScript.
		const file = `read-worker${extname(import.meta.url)}`;
		this.#thread = new LimitedThread(new URL(file, import.meta.url), limits);
	}

	/** Rejects with what is wrong with the bytes, or with BeyondLimits. */
	async rows(question: ReadQuestion): Promise<StoredRow[]> {
		const answer = await this.#thread.ask(question);
		if ("fault" in answer) throw new Error(answer.fault);
		return answer.rows;
	}
}
