import type { ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { DestinationInput, LoadInput } from "../contracts/job.ts";
import type { Manifest } from "../contracts/manifest.ts";
import { startTidemill } from "../test/support/servers/tidemill-process.ts";
import { memory } from "./process-cost.ts";

const pollMs = 20;

/** What a process took from its start to its end. */
export interface Cost {
	seconds: number;
	peakBytes: number;
}

/** A Run's process that loads a manifest, whose links work, into the table `events`. Throws when it fails. */
export async function load(
	manifest: Manifest,
	destination: DestinationInput,
	directory: string,
	env: Record<string, string> = {},
): Promise<Cost> {
	const manifestFile = JSON.stringify({ ...manifest, run: randomUUID() });
	const input: LoadInput = {
		version: 1,
		run: {
			name: "bench",
			uid: JSON.parse(manifestFile).run,
			account: "bench",
			pipeline: "bench",
		},
		destination,
		table: {
			name: "events",
			description: "",
			columns: [
				{ name: "event_id", from: "EventID" },
				{ name: "timestamp", from: "Timestamp" },
				{ name: "body", from: "Body" },
				{ name: "date", from: "Date" },
			],
		},
		strategy: "Incremental",
		rebuild: false,
		manifestURL: `data:application/json,${encodeURIComponent(manifestFile)}`,
	};
	const file = join(directory, "input.json");
	await writeFile(file, JSON.stringify(input));
	const { child, ended } = startTidemill(["load", "--input", file], {
		TIDEMILL_SCRATCH: directory,
		TIDEMILL_WAREHOUSE: directory,
		...env,
	});
	return costOf(child).catch(async (cause) => {
		const { stdout } = await ended;
		throw new Error(`The load failed:\n${stdout}`, { cause });
	});
}

/** Waits for the process to end. Throws when it fails. */
export async function costOf(child: ChildProcess): Promise<Cost> {
	const startMs = performance.now();
	const ended = new Promise<number | null>((resolve) =>
		child.on("exit", resolve),
	);
	let peakBytes = 0;
	let exitCode: number | null | undefined;
	while (exitCode === undefined) {
		// What a process had at most is lost with it.
		const now = await memory(child.pid!).catch(() => undefined);
		peakBytes = Math.max(peakBytes, now?.peakBytes || 0);
		exitCode = await Promise.race([ended, delay(pollMs, undefined)]);
	}
	if (exitCode !== 0) throw new Error(`A process ended with ${exitCode}`);
	return { seconds: (performance.now() - startMs) / 1000, peakBytes };
}
