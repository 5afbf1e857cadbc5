import { type BinaryName, pinnedBinaries } from "./binaries/pinned.ts";
import { resolveBinaries } from "./binaries.ts";
import { LocalError } from "./errors.ts";
import { createTerminal } from "./terminal.ts";

/** Gets the servers that tests and benchmarks run, where this machine doesn't have them yet. */
const terminal = createTerminal();
try {
	await resolveBinaries(Object.keys(pinnedBinaries) as BinaryName[], {
		report: (name, text) => terminal.update(name, text),
	});
} catch (error) {
	if (!(error instanceof LocalError)) throw error;
	process.stderr.write(`\n${error.message}\n`);
	process.exitCode = 1;
} finally {
	terminal.settle();
}
