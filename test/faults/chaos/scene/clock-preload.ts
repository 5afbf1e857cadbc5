/** Loaded into a process before its program: `Date.now()` is ahead by what the file CHAOS_CLOCK says, in milliseconds. */
import { readFileSync } from "node:fs";

const file = process.env.CHAOS_CLOCK!;
const machineNow = Date.now;
let aheadMs = 0;

Date.now = () => {
	// Empty for an instant while it is written.
	aheadMs = Number(readFileSync(file, "utf8") || aheadMs);
	return machineNow() + aheadMs;
};
