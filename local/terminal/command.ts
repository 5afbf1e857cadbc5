import { explain } from "../machine/errors.ts";

/** Runs a command of local mode and sets the exit code. A problem that a person can solve is printed without a stack trace. */
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
