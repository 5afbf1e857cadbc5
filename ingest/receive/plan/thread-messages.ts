import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import type { ViolationKind } from "../../../packages/contracts/tracking-plan.ts";
import type { ValidationOutcome } from "../../../packages/tracking-plan/plan-validator.ts";

/** A plan as the validation thread gets it. */
export interface LearnedPlan {
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

/** Messages to the validation thread. It answers each batch, in order. */
export type ThreadOrder =
	| { type: "learn"; plan: LearnedPlan }
	| { type: "forget"; id: number }
	| { type: "validate"; batch: EventBatch };

/** Events to validate. The fields have one entry for each. */
export interface EventBatch {
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
	verdicts: PlanVerdict[];
	/** How long each took. */
	tookMs: number[];
	/** How many plans had to be made ready again for them. */
	readiedAgain: number;
	bytes: ArrayBuffer;
}

export interface PlanVerdict {
	/** Failed: the plan couldn't validate it, which is a fault of Tidemill's. */
	outcome: ValidationOutcome | "Failed";
	/** The validation record as JSON; what went wrong, for Failed. */
	record: string;
	/** The violations as JSON; absent unless the event is rejected. */
	details?: string;
	/** Each kind of its violations once. */
	kinds: ViolationKind[];
}

/** Compressed, in memory that threads share: a plan's code shrinks to a thirtieth, and most plans rarely validate. */
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
export type CompileAnswer = CompiledCode | { fault: string };

export interface CompiledCode {
	/** JavaScript, {@link file://./thread-messages.ts packed}. */
	code: Uint8Array<SharedArrayBuffer>;
	/** With it another thread needn't read the code again; packed, too. */
	cache: Uint8Array<SharedArrayBuffer>;
	/** The header whose value is the event's type, in lower case; undefined if the type is elsewhere. */
	typeHeader: string | undefined;
}
