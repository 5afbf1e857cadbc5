import { type BinaryName, localServers } from "./binaries/pinned.ts";
import { resolveBinaries } from "./binaries/resolve.ts";
import { runCommand } from "./machine/errors.ts";
import { createTerminal } from "./machine/terminal.ts";

/** Gets the servers for tests and benchmarks that this machine lacks, and the programs that the command line names. */
async function fetchServers(): Promise<number> {
	const terminal = createTerminal();
	const warnings: string[] = [];
	try {
		const more = process.argv.slice(2) as BinaryName[];
		await resolveBinaries([...localServers, ...more], {
			report: (text) => terminal.update("servers", text),
			say: (text) => terminal.say(text),
			warn: (text) => warnings.push(text),
		});
	} finally {
		terminal.settle();
	}
	for (const text of warnings) terminal.say(text);
	return 0;
}

await runCommand(fetchServers);
