import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import type { ViolationKind } from "../../../packages/contracts/tracking-plan.ts";

/** A plan as the judge thread gets it. */
export interface JudgePlan {
	/** Numbers the compiled plans of this process. */
	id: number;
	account: string;
	/** metadata.name of the TrackingPlan. */
	plan: string;
	/** The plan document as JSON. */
	document: string;
	/** JavaScript, {@link file://./packed-memory.ts packed}. */
	code: Uint8Array<SharedArrayBuffer>;
	/** With it the thread needn't read the code again; packed, too. */
	cache?: Uint8Array<SharedArrayBuffer>;
}

/** What the judge thread is told. It answers each batch, in order. */
export type JudgeOrder =
	| { type: "learn"; plan: JudgePlan }
	| { type: "forget"; id: number }
	| { type: "judge"; batch: Batch };

/** Events to judge. The fields have one entry for each. */
export interface Batch {
	/** Ids of plans that the thread has learned. */
	plans: number[];
	/** The value of the header that the plan names as the event's type. */
	headers: (string | undefined)[];
	/** Where the event's body ends in `bytes`; it begins where the one before ends. */
	ends: number[];
	/** Bodies as JSON text. The thread gives the memory back with its answer. */
	bytes: ArrayBuffer;
}

/** The verdicts on a batch's first events. The others have to wait for another turn. */
export interface BatchAnswer {
	verdicts: Verdict[];
	/** How long each took. */
	tookMs: number[];
	/** How many plans had to be made ready again for them. */
	readiedAgain: number;
	bytes: ArrayBuffer;
}

export interface Verdict {
	/** Failed: the plan couldn't judge it, which is a fault of Tidemill's. */
	outcome: "Accept" | "Quarantine" | "Reject" | "Failed";
	/** The judgement as JSON; what went wrong, for Failed. */
	judgement: string;
	/** The violations as JSON; absent unless the event is rejected. */
	details?: string;
	/** Each kind of its violations once. */
	kinds: ViolationKind[];
}

/** Compressed, in memory that threads share: a plan's code shrinks to a thirtieth, and most plans rarely judge. */
export function packed(
	content: Uint8Array | string,
): Uint8Array<SharedArrayBuffer> {
	const bytes = zstdCompressSync(content);
	const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
	shared.set(bytes);
	return shared;
}

export function unpacked(bytes: Uint8Array<SharedArrayBuffer>): Buffer {
	return zstdDecompressSync(bytes);
}

/** What the compile thread makes of a plan document, or what is wrong with the document. */
export type CompileAnswer = Compilation | { fault: string };

export interface Compilation {
	/** JavaScript, {@link file://./thread-messages.ts packed}. */
	code: Uint8Array<SharedArrayBuffer>;
	/** With it another thread needn't read the code again; packed, too. */
	cache: Uint8Array<SharedArrayBuffer>;
	/** The header whose value is the event's type, in lower case; undefined if the type is elsewhere. */
	typeHeader: string | undefined;
}
