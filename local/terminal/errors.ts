/**
 * What can keep the local mode from starting, in words for the person at the terminal: what is wrong, with which thing,
 * and what to do next. Shown without a stack trace.
 */
export class LocalError extends Error {
	override name = "LocalError";
}

/** The table of problems. Each takes the facts of the case and gives the error to throw. */
export const problem = {
	binDirectoryMissing: (directory: string) =>
		new LocalError(
			`TIDEMILL_BIN is ${directory}, which is not a directory. Correct it, or unset it to let Tidemill get its servers by itself.`,
		),
	wrongFile: (path: string, why: string) =>
		new LocalError(
			`${path} does not run on this machine (${process.platform}/${process.arch}): ${why}. Remove it, or replace it with one for this system, and start again.`,
		),
	checksumMismatch: (url: string, expected: string, actual: string) =>
		new LocalError(
			`${url} is not the file its publisher describes: its SHA-256 is ${actual}, the publisher says ${expected}. Nothing of it was kept. Try again; if it repeats, something on the way (a proxy?) changes it: set TIDEMILL_DOWNLOADS=off to build from source instead.`,
		),
	cannotObtain: (names: string[], reasons: string[]) =>
		new LocalError(
			[
				`${names.join(", ")}: neither downloaded nor built.`,
				...reasons.map((reason) => `  - ${reason}`),
				"Do one of these, and start again:",
				"  - connect this machine to the network (HTTPS_PROXY is honoured),",
				"  - install Go 1.26 or later (https://go.dev/dl/), so that they can be built,",
				"  - put the programs into a folder and name it in TIDEMILL_BIN.",
			].join("\n"),
		),
	portTaken: (name: string, port: number, file: string) =>
		new LocalError(
			`Port ${port}, where this Tidemill's ${name} was reachable before, is taken by another program (\`ss -ltnp "sport = :${port}"\` or \`lsof -i :${port}\` shows which). Stop that program; or remove ${file} to let Tidemill choose its ports anew, which changes its webhook URLs.`,
		),
	fileTrouble: (path: string, words: string) =>
		new LocalError(
			`${path} can't be used: ${words}. Correct its permissions or place, or set TIDEMILL_HOME and TIDEMILL_CACHE to folders that are yours, and start again.`,
		),
	stateUnreadable: (path: string) =>
		new LocalError(
			`${path} can't be read as JSON. Somebody has edited it, or the disk has lost it: restore it, or remove it to have it made anew.`,
		),
	alreadyRunning: (directory: string, pid: number) =>
		new LocalError(
			`Tidemill is already running in ${directory} (process ${pid}). Stop it with \`make down\`, or set TIDEMILL_HOME to another folder to run a second one.`,
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

/** The error as one for a person, if it is something that a person can mend; undefined for a defect of ours. */
export function explain(error: unknown): LocalError | undefined {
	if (error instanceof LocalError) return error;
	const { code, path, message } = error as NodeJS.ErrnoException;
	if (path === undefined) return undefined;
	if (code === "ENOSPC" || code === "EDQUOT") return problem.diskFull(path);
	return problem.fileTrouble(path, message);
}

function megabytes(bytes: number): string {
	return `${Math.floor(bytes / 1024 ** 2)} MB`;
}
