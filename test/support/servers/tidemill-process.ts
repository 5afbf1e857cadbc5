import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { programOf, project } from "./role-server.ts";

export interface TidemillProcess {
	child: ChildProcess;
	/** Settles when the process has ended and its output is read. */
	ended: Promise<{
		exitCode: number | null;
		signal: NodeJS.Signals | null;
		stdout: string;
		stderr: string;
	}>;
	/** Called with each line of standard output. */
	onLine: (line: string) => void;
}

/**
 * Starts `tidemill <args>` as a process of its own, with these variables added to the environment.
 * @param root of the code that runs; this repository's unless given.
 */
export function startTidemill(
	args: string[],
	env: Record<string, string> = {},
	root: string = project,
): TidemillProcess {
	const child = spawn(process.execPath, [programOf(root), ...args], {
		stdio: ["ignore", "pipe", "pipe"],
		env: { ...process.env, ...env },
	});
	let [stdout, stderr] = ["", ""];
	child.stdout.setEncoding("utf8").on("data", (text) => {
		stdout += text;
	});
	child.stderr.setEncoding("utf8").on("data", (text) => {
		stderr += text;
	});
	const started: TidemillProcess = {
		child,
		onLine: () => undefined,
		ended: new Promise((resolve) =>
			child.on("close", (exitCode, signal) =>
				resolve({ exitCode, signal, stdout, stderr }),
			),
		),
	};
	createInterface({ input: child.stdout }).on("line", (line) =>
		started.onLine(line),
	);
	return started;
}
