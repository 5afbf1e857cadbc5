import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type {
	DestinationInput,
	LoadInput,
} from "../../../packages/contracts/job.ts";
import type { Manifest } from "../../../packages/contracts/manifest.ts";
import { startTidemill } from "../../../test/support/servers/tidemill-process.ts";
import { costOf, type ProcessCost } from "../measure/process-cost.ts";

export interface LoadOptions {
	env?: Record<string, string>;
	input?: Partial<LoadInput>;
}

/** Runs `tidemill load` on a manifest with working links, into the table `events`. Throws if it fails. */
export async function load(
	manifest: Manifest,
	destination: DestinationInput,
	directory: string,
	{ env = {}, input: changes = {} }: LoadOptions = {},
): Promise<ProcessCost> {
	const uid = randomUUID();
	const links = createServer((_, response) =>
		response.end(JSON.stringify({ ...manifest, run: uid })),
	).listen(0, "127.0.0.1");
	await once(links, "listening");
	const input: LoadInput = {
		version: 1,
		run: { name: "bench", uid, account: "bench", pipeline: "bench" },
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
		manifestURL: `http://127.0.0.1:${(links.address() as AddressInfo).port}/manifest`,
		...changes,
	};
	const file = join(directory, "input.json");
	await writeFile(file, JSON.stringify(input));
	const { child, ended } = startTidemill(["load", "--input", file], {
		TIDEMILL_SCRATCH: directory,
		TIDEMILL_WAREHOUSE: directory,
		...env,
	});
	try {
		return await costOf(child).catch(async (cause) => {
			const { stdout } = await ended;
			throw new Error(`The load failed:\n${stdout}`, { cause });
		});
	} finally {
		links.close();
		links.closeAllConnections();
	}
}
