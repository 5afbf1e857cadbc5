import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { problem } from "../machine/errors.ts";

/** Reads a JSON file; undefined when there is none. Throws a LocalError when it isn't JSON. */
export function readState<T>(path: string): T | undefined {
	let text: string;
	try {
		text = readFileSync(path, "utf8");
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
		throw error;
	}
	try {
		return JSON.parse(text) as T;
	} catch {
		throw problem.stateUnreadable(path);
	}
}

/** Writes a file atomically, readable only by its owner. Synchronous: it is in place when the call returns. */
export function writeWhole(path: string, text: string): void {
	writeFileSync(`${path}.new`, text, { mode: 0o600 });
	renameSync(`${path}.new`, path);
}

export function writeState(path: string, state: unknown): void {
	writeWhole(path, `${JSON.stringify(state, undefined, "\t")}\n`);
}
