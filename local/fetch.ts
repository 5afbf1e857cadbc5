import { localServers } from "./binaries/pinned.ts";
import { resolveBinaries } from "./binaries/resolve.ts";
import { runCommand } from "./terminal/command.ts";
import { createTerminal } from "./terminal/terminal.ts";

/** Gets the servers for tests and benchmarks that this machine lacks. */
async function fetchServers(): Promise<number> {
	const terminal = createTerminal();
	try {
		await resolveBinaries([...localServers], {
			report: (name, text) => terminal.update(name, text),
		});
	} finally {
		terminal.settle();
	}
	return 0;
}

await runCommand(fetchServers);
