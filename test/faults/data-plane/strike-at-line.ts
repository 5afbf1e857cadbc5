/**
 * Imported by Node before a program's own code (`--import`): as soon as it writes a line with the words TEST_WORDS to its
 * log, the process sends itself the signal TEST_SIGNAL. Who reads the line elsewhere comes at some later moment.
 */
import fs from "node:fs";

const { TEST_WORDS: words, TEST_SIGNAL: signal } = process.env;
if (words && signal) {
	const { write } = fs;
	const strike = (...args: Parameters<typeof write>) => {
		if (String(args[1]).includes(words)) process.kill(process.pid, signal);
		return write(...args);
	};
	// What pino writes with, unless it is told to wait.
	Object.assign(fs, { write: strike });
}
