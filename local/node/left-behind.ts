import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { hasEnded } from "../machine/child-records.ts";
import { isRunning, type ProcessIdentity } from "../machine/identity.ts";
import { killGroup } from "./container.ts";
import {
	type NodeDirectories,
	PodDirectory,
	type PodIdentity,
	parsePodDirectory,
	processRecordSuffix,
} from "./pod.ts";

/**
 * Ends the processes that a killed node process left running, and returns the Pods that have a directory on the disk. A new
 * node process can't adopt them, because it gets neither their exit codes nor their output. Unfinished Pods fail as
 * `NodeRestarted`, and their Job starts the next Pod.
 */
export async function endLeftBehind(
	directories: NodeDirectories,
): Promise<LeftBehind[]> {
	await mkdir(directories.pods, { recursive: true, mode: 0o700 });
	const leftBehind: LeftBehind[] = [];
	for (const name of await readdir(directories.pods)) {
		const identity = parsePodDirectory(name);
		if (!identity) continue;
		const { path, volumes } = new PodDirectory(directories, identity);
		const records = (await readdir(path)).filter((file) =>
			file.endsWith(processRecordSuffix),
		);
		for (const record of records) await endProcess(join(path, record));
		await rm(volumes, { recursive: true, force: true });
		leftBehind.push({ ...identity, wasStarted: records.length > 0 });
	}
	return leftBehind;
}

export interface LeftBehind extends PodIdentity {
	wasStarted: boolean;
}

async function endProcess(recordFile: string): Promise<void> {
	const identity = await readIdentity(recordFile);
	// Compares the start time, because another process may have the id by now.
	if (!identity || !isRunning(identity)) return;
	killGroup(identity.pid);
	if (!(await hasEnded(identity, 10_000)))
		throw new Error(
			`process ${identity.pid} of a former start doesn't end. End it and start again.`,
		);
}

async function readIdentity(
	recordFile: string,
): Promise<ProcessIdentity | undefined> {
	try {
		return JSON.parse(await readFile(recordFile, "utf8")) ?? undefined;
	} catch {
		// A truncated record: the node died while it wrote it.
		return undefined;
	}
}
