import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { LoadInput } from "../../../packages/contracts/job.ts";
import { temporaryDirectory } from "../../../test/support/servers/test-server.ts";
import { startTidemill } from "../../../test/support/servers/tidemill-process.ts";
import { type Bench, compared, type Goal } from "../measure/measurement.ts";
import { costOf, memory } from "../measure/process-cost.ts";
import { roundsOf } from "../measure/rounds.ts";
import { manifestOf } from "./object-upload.ts";

const rounds = roundsOf(11);

/** From the start of a Run's process to its request for the first object, without a compile cache, as in the image. */
export const bench: Bench = {
	about: `a Run's process from its start to the first object it asks for; baseline: Node importing DuckDB`,
	async run(say) {
		// The image's root is read-only.
		process.env.NODE_DISABLE_COMPILE_CACHE = "1";
		const directory = await temporaryDirectory("bench-start");
		let answer: RequestListener = () => undefined;
		const server = createServer((request, response) =>
			answer(request, response),
		).listen(0, "127.0.0.1");
		await once(server, "listening");
		try {
			const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
			const file = join(directory, "input.json");
			await writeFile(file, JSON.stringify(inputOf(`${url}/manifest`)));
			const alone: { seconds: number; peakBytes: number }[] = [];
			const starts: typeof alone = [];
			for (let round = 0; round <= rounds; round++) {
				const script =
					"const { DuckDBInstance } = await import('@duckdb/node-api'); DuckDBInstance";
				const imported = await costOf(
					spawn(process.execPath, ["--input-type=module", "-e", script]),
				);
				const startMs = performance.now();
				const { child, ended } = startTidemill(["load", "--input", file], {
					TIDEMILL_SCRATCH: directory,
					TIDEMILL_WAREHOUSE: directory,
				});
				const seconds = await new Promise<number>((resolve) => {
					answer = ({ url: path }, response) => {
						if (path === "/manifest")
							response.end(JSON.stringify(manifest(`${url}/object`)));
						else resolve((performance.now() - startMs) / 1000);
					};
				});
				const { peakBytes } = await memory(child.pid!);
				child.kill("SIGKILL");
				await ended;
				// The first round reads the files from the disk.
				if (round === 0) continue;
				alone.push(imported);
				starts.push({ seconds, peakBytes });
			}
			say(`${rounds} rounds`);
			const against = (
				metric: string,
				unit: string,
				goal: Goal,
				of: (cost: (typeof alone)[number]) => number,
			) => compared(metric, unit, starts.map(of), alone.map(of), goal);
			return [
				against(
					"to the first object",
					"s",
					{ atMost: 0.18 },
					({ seconds }) => seconds,
				),
				against(
					"peak memory then",
					"MB",
					{ atMost: 90 },
					({ peakBytes }) => peakBytes / 1e6,
				),
			];
		} finally {
			server.closeAllConnections();
			server.close();
			await rm(directory, { recursive: true, force: true });
		}
	},
};

function inputOf(manifestURL: string): LoadInput {
	return {
		version: 1,
		run: { name: "bench", uid: "bench", account: "bench", pipeline: "bench" },
		destination: { type: "DuckDB", path: "bench.duckdb" },
		table: {
			name: "events",
			description: "",
			columns: [
				{ name: "event_id", from: "EventID" },
				{ name: "date", from: "Date" },
			],
		},
		strategy: "Incremental",
		rebuild: false,
		manifestURL,
	};
}

function manifest(url: string) {
	const object = { key: "object", url, rows: 1, bytes: 1 };
	const day = { date: "2026-03-01", rows: 1, objects: [object] };
	return { ...manifestOf([day]), run: "bench" };
}
