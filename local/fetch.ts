import { type BinaryName, localServers } from "./binaries/pinned.ts";
import { resolveBinaries } from "./binaries/resolve.ts";
import { runCommand } from "./machine/errors.ts";
import { createTerminal } from "./machine/terminal.ts";

/** Gets the servers for tests and benchmarks that this machine lacks, and the programs that the command line names. */
async function fetchServers(): Promise<number> {
	const terminal = createTerminal();
	try {
		const more = process.argv.slice(2) as BinaryName[];
		await resolveBinaries([...localServers, ...more], {
			report: (name, text) => terminal.update(name, text),
		});
	} finally {
		terminal.settle();
	}
	return 0;
}

await runCommand(fetchServers);
