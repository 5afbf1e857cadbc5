import { shellWord } from "../../packages/escapes/shell.ts";
import { SettingError } from "../../packages/service/settings.ts";

/**
 * A problem that the person at the terminal can solve. The message says what is wrong with which thing, and what to do next.
 * Shown without a stack trace.
 */
export class LocalError extends Error {
	override name = "LocalError";
}

/** The table of problems. Each entry turns the facts of a case into the error to throw. */
export const problem = {
	binDirectoryMissing: (directory: string) =>
		new LocalError(
			`TIDEMILL_BIN is ${shellWord(directory)}, which is not a directory. Correct it, or unset it and Tidemill gets its servers itself.`,
		),
	wrongFile: (path: string, why: string) =>
		new LocalError(
			`${shellWord(path)} does not run on this machine (${process.platform}/${process.arch}): ${why}. Remove it, or replace it with a build for this system, and start again.`,
		),
	wrongDigest: (url: string, expected: string, actual: string) =>
		new LocalError(
			`${url} is not the file that this version of Tidemill pins. It was discarded. Its publisher or something on the way (a proxy?) has changed it.\n  pinned  ${expected}\n  came    ${actual}\nTIDEMILL_DOWNLOADS=off builds without asking for it.`,
		),
	cannotObtain: (names: string[], reasons: string[]) =>
		new LocalError(
			[
				`${names.join(", ")} could be neither downloaded nor built:`,
				...reasons.map((reason) => `  - ${reason}`),
				"Do one of these and start again:",
				"  - connect this machine to the network (HTTPS_PROXY works),",
				"  - install Go 1.26 or later (https://go.dev/dl/), to build them,",
				"  - put the programs into a folder and set TIDEMILL_BIN to it.",
			].join("\n"),
		),
	portTaken: (name: string, port: number, file: string) =>
		new LocalError(
			`Port ${port}, which ${name} of this Tidemill used before, is taken by another program (\`ss -ltnp "sport = :${port}"\` or \`lsof -i :${port}\` shows which). Stop that program; or remove ${shellWord(file)}, and Tidemill chooses new ports, which changes its webhook URLs.`,
		),
	fileTrouble: (path: string, words: string) =>
		new LocalError(
			`${shellWord(path)} can't be used: ${words}. Fix its permissions, or set TIDEMILL_HOME and TIDEMILL_CACHE to folders of your own, and start again.`,
		),
	stateUnreadable: (path: string) =>
		new LocalError(
			`${shellWord(path)} is not valid JSON: it was edited or damaged. Restore it, or remove it and Tidemill creates a new one.`,
		),
	alreadyRunning: (directory: string, pid: number) =>
		new LocalError(
			`Tidemill is already running in ${shellWord(directory)} (process ${pid}). Stop it with \`make down\`, or set TIDEMILL_HOME to another folder to run a second Tidemill.`,
		),
	diskAlmostFull: (path: string, freeBytes: number, leastBytes: number) =>
		new LocalError(
			`The disk that holds ${path} has ${megabytes(freeBytes)} left; a start needs ${megabytes(leastBytes)}. Free some space, or set TIDEMILL_HOME to a folder on another disk, and start again.`,
		),
	diskFull: (path: string) =>
		new LocalError(
			`The disk that holds ${path} is full. Free some space (the servers take 400 MB, building them 4 GB more), or set TIDEMILL_CACHE and TIDEMILL_HOME to folders on another disk, and start again.`,
		),
} as const;

/** The error as a problem that a person can solve; undefined for a defect of ours. */
export function explain(error: unknown): LocalError | undefined {
	if (error instanceof LocalError) return error;
	if (error instanceof SettingError) return new LocalError(error.message);
	const { code, path, message } = error as NodeJS.ErrnoException;
	if (path === undefined) return undefined;
	if (code === "ENOSPC" || code === "EDQUOT") return problem.diskFull(path);
	return problem.fileTrouble(path, message);
}

function megabytes(bytes: number): string {
	return `${Math.floor(bytes / 1024 ** 2)} MB`;
}

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
