import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** This process's memory in use after a collection. */
export function heldBytes(): number {
	// There is no other way to collect without an option of the command line.
	setFlagsFromString("--expose-gc");
	const collect = runInNewContext("gc");
	collect();
	// V8 frees the buffers that one collection has found beside the program, and has done so by the next.
	collect();
	const { heapUsed, arrayBuffers } = process.memoryUsage();
	return heapUsed + arrayBuffers;
}
