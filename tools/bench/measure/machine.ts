import { execFileSync } from "node:child_process";
import { statfs } from "node:fs/promises";
import { cpus, loadavg } from "node:os";

/** What a figure was measured on, and when: a part of its JSON line. */
export interface Conditions {
	commit: string;
	/** ISO 8601, UTC. */
	date: string;
	cpu: string;
	node: string;
	/** Load averages over 1 minute, before and after the bench. */
	load: [before: number, after: number];
	/** The environment variables that change what is measured. */
	settings: string;
}

/** Notes the conditions now; the function that it returns notes the load afterwards. */
export function conditions(project: string): () => Conditions {
	const [before = 0] = loadavg();
	const commit = execFileSync("git", ["describe", "--always", "--dirty"], {
		cwd: project,
		encoding: "utf8",
	}).trim();
	const date = new Date().toISOString();
	const processors = cpus();
	return () => ({
		commit,
		date,
		cpu: `${processors.length} × ${processors[0]?.model ?? "unknown"}`,
		node: process.version,
		load: [before, loadavg()[0] ?? 0],
		settings: settingsOf(process.env),
	});
}

/** The bench's own settings but BENCH_ROUNDS, since each figure says how many rounds it has. */
export function settingsOf(env: NodeJS.ProcessEnv): string {
	return Object.entries(env)
		.filter(([name, value]) => /^BENCH_(?!ROUNDS$)/.test(name) && value)
		.map(([name, value]) => `${name}=${value}`)
		.sort()
		.join(" ");
}

/** statfs(2): TMPFS_MAGIC and RAMFS_MAGIC. */
const memoryFileSystems = new Set([0x01021994, 0x858458f6]);

/** Throws if the folder is in memory, where a sync costs nothing. */
export async function requireDisk(folder: string): Promise<void> {
	const { type } = await statfs(folder);
	if (memoryFileSystems.has(type))
		throw new Error(
			`TMPDIR: ${folder} is in memory (tmpfs), where a sync costs nothing. Set TMPDIR to a folder on a disk.`,
		);
}
