import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { hasEnded } from "../../process/child-records.ts";
import { isRunning, type ProcessIdentity } from "../../process/identity.ts";
import { killGroup } from "../container/process.ts";
import {
	type NodeDirectories,
	PodDirectory,
	type PodIdentity,
	parsePodDirectory,
	processRecordSuffix,
} from "./directory.ts";

/**
 * Ends what a former node process that was killed left running, and returns the Pods that have a directory on disk.
 * A new node process can't get hold of another's children (their exit codes and outputs are lost), so it ends them; their
 * Pods, if they aren't finished, fail as `NodeRestarted`, and a Job starts the next one.
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
	// By its start, too: the process id may be another's by now.
	if (!identity || !isRunning(identity)) return;
	killGroup(identity.pid);
	if (!(await hasEnded(identity, 10_000)))
		throw new Error(
			`process ${identity.pid} of a former start doesn't end. End it, and start again.`,
		);
}

async function readIdentity(
	recordFile: string,
): Promise<ProcessIdentity | undefined> {
	try {
		return JSON.parse(await readFile(recordFile, "utf8")) ?? undefined;
	} catch {
		// Cut off while it was written: the node died within a millisecond of the start.
		return undefined;
	}
}
