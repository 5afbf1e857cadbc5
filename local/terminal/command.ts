import { explain } from "./errors.ts";

/** Runs a command of the local mode: its result is the exit code, and what a person can mend is told without a stack. */
export async function runCommand(
	command: () => Promise<number>,
): Promise<void> {
	try {
		process.exitCode = await command();
	} catch (error) {
		const problem = explain(error);
		if (!problem) throw error;
		process.stderr.write(`\n${problem.message}\n`);
		process.exitCode = 1;
	}
}
