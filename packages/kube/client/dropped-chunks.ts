import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** In characters. A collection of the young objects takes a millisecond at most. */
const collectEvery = 4 * 1024 ** 2;

let length = 0;
let collect: ((options: { type: "minor" }) => void) | undefined;

/**
 * Call it with each chunk of which little is kept. What a chunk was read into stands outside V8's heap, so V8 lets dozens of MiB
 * pile up before it collects them, and malloc keeps the holes: 400 answers of 1.3 MB left 30 to 50 MiB, and with this 10.
 */
export function droppedChunk(chunk: string): void {
	length += chunk.length;
	if (length < collectEvery) return;
	length = 0;
	collect ??= collector();
	collect({ type: "minor" });
}

/** Contexts that are made once the flag is set have the function. */
function collector(): NonNullable<typeof collect> {
	setFlagsFromString("--expose-gc");
	return runInNewContext("gc");
}
