import { randomUUID } from "node:crypto";
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
	identifyProcess,
	isRunning,
	type ProcessIdentity,
} from "./identity.ts";

interface Lock {
	release(): Promise<void>;
}

/**
 * Takes a lock file, or returns the running process that holds it. A lock whose owner was killed counts as free.
 * @param facts for whoever reads the file otherwise.
 */
export async function tryLock(
	path: string,
	facts: Record<string, unknown> = {},
): Promise<Lock | { owner: ProcessIdentity }> {
	await mkdir(dirname(path), { recursive: true });
	// Written aside, then linked: nobody sees a half-written lock, and link(2) fails when the lock exists.
	const draft = `${path}.${randomUUID()}`;
	await writeFile(
		draft,
		JSON.stringify({ ...identifyProcess(process.pid), ...facts }),
	);
	try {
		for (;;) {
			try {
				await link(draft, path);
				return { release: () => rm(path, { force: true }) };
			} catch (error) {
				if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
			}
			const content = await readLock(path);
			// Released meanwhile.
			if (content === undefined) continue;
			const owner = ownerOf(content);
			if (owner && isRunning(owner)) return { owner };
			await removeLeftover(path, content);
		}
	} finally {
		await rm(draft, { force: true });
	}
}

/** Runs the action under the lock. Waits for as long as another running process holds it. */
export async function withLock<T>(
	path: string,
	onWait: (owner: ProcessIdentity) => void,
	action: () => Promise<T>,
): Promise<T> {
	for (;;) {
		const lock = await tryLock(path);
		if ("owner" in lock) {
			onWait(lock.owner);
			await delay(250);
			continue;
		}
		try {
			return await action();
		} finally {
			await lock.release();
		}
	}
}

/**
 * Removes the lock of a dead process, and no other lock. A second lock lets one process at a time check the content again
 * and remove the file, so that it removes what it saw.
 */
async function removeLeftover(path: string, content: string): Promise<void> {
	const guard = await tryLock(`${path}.leftover`);
	if ("owner" in guard) {
		await delay(10);
		return;
	}
	try {
		if ((await readLock(path)) === content) await rm(path, { force: true });
	} finally {
		await guard.release();
	}
}

/** The process that a lock file names, running or not; undefined when there is none. */
export async function readOwner(
	path: string,
): Promise<ProcessIdentity | undefined> {
	return ownerOf((await readLock(path)) ?? "");
}

async function readLock(path: string): Promise<string | undefined> {
	try {
		return await readFile(path, "utf8");
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
		throw error;
	}
}

/** A damaged lock has no owner. */
function ownerOf(content: string): ProcessIdentity | undefined {
	try {
		return JSON.parse(content);
	} catch {
		return undefined;
	}
}
