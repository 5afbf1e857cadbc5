import { vi } from "vitest";
import { runCommandLine } from "../../../cli/bin/command-line.ts";

export interface Answer {
	stdout: string;
	stderr: string;
	exitCode: number;
}

/** Carries out a command line of `tidemill` in this process, which is ten times faster than a process of its own. */
export async function inProcess(...args: string[]): Promise<Answer> {
	const written = { stdout: "", stderr: "" };
	const spies = (["stdout", "stderr"] as const).map((name) =>
		vi.spyOn(process[name], "write").mockImplementation((text) => {
			written[name] += text;
			return true;
		}),
	);
	const before = process.exitCode;
	process.exitCode = 0;
	try {
		await runCommandLine(args);
		return { ...written, exitCode: process.exitCode };
	} finally {
		process.exitCode = before;
		for (const spy of spies) spy.mockRestore();
	}
}
