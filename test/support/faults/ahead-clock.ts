/**
 * Imported by Node before a program's own code (`--import`): `performance.now()` is then ahead by as many milliseconds as
 * the file named by TEST_AHEAD says, as in a process that slept and whose timers haven't come yet.
 */
import { readFileSync } from "node:fs";

const file = process.env.TEST_AHEAD;
if (file) {
	const now = performance.now.bind(performance);
	performance.now = () => now() + Number(readFileSync(file, "utf8"));
}
