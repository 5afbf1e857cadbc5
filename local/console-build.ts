import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { type LocalHome, projectDirectory } from "./machine/home.ts";
import type { Terminal } from "./machine/terminal.ts";

const buildScript = join(projectDirectory, "tools/console/build.ts");

/**
 * Builds the console in the background, if it has changed. Until it is there, the API answers for it with 503 and the command.
 * What the build says is in a log, which the terminal names if it fails. Whoever brings the program (TIDEMILL_COMMAND) brings
 * the console.
 */
export function buildConsole(
	{ logs }: Pick<LocalHome, "logs">,
	terminal: Pick<Terminal, "say">,
	signal: AbortSignal,
	{ env = process.env, script = buildScript } = {},
): void {
	if (env.TIDEMILL_COMMAND) return;
	const file = join(logs, "console-build.log");
	const log = openSync(file, "w");
	const build = spawn(process.execPath, [script], {
		stdio: ["ignore", log, log],
		signal,
	});
	closeSync(log);
	// The signal ends it as an error.
	build.on("error", () => {});
	build.on("exit", (code) => {
		if (code !== 0 && !signal.aborted)
			terminal.say(`The console couldn't be built: ${file} says why.`);
	});
}
