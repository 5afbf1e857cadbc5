import { execFile } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { installPackages } from "../../../local/binaries/debian-packages.ts";
import { temporaryDirectory } from "../../../test/support/servers/test-server.ts";
import type { LoadOrder, LoadReport } from "./load-generator.ts";
import { requestsOf } from "./requests.ts";

const script = new URL("wrk.lua", import.meta.url).pathname;

/**
 * A closed loop by wrk (https://github.com/wg/wrk), which takes half of the CPU time of a generator in JavaScript. It shares the cores
 * with the server, so the dearer one would be measured as much as the server.
 */
export async function closedLoop(order: LoadOrder): Promise<LoadReport> {
	installPackages({ wrk: "wrk" }, console.error);
	const directory = await temporaryDirectory("requests");
	const file = join(directory, "requests");
	await writeFile(
		file,
		requestsOf(order).flatMap((bytes) => [`${bytes.length}\n`, bytes]),
	);
	try {
		const warmUp = await run(order, order.warmUpMs, file);
		// The server still holds what the warm-up's connections sent last. Large bodies of both would be more than receive takes at once.
		await setTimeout(200);
		const report = await run(order, order.measureMs, file);
		return { ...report, answers: warmUp.answers + report.answers };
	} finally {
		await rm(directory, { recursive: true });
	}
}

async function run(
	{ host, port, connections }: LoadOrder,
	ms: number,
	requests: string,
): Promise<LoadReport> {
	if (ms === 0) return nothing;
	// One thread: the other core is the server's.
	const { stdout } = await promisify(execFile)("wrk", [
		"--threads=1",
		`--connections=${connections}`,
		`--duration=${Math.ceil(ms / 1000)}s`,
		"--timeout=10s",
		`--script=${script}`,
		`http://${host}:${port}`,
		"--",
		requests,
	]);
	const measured = JSON.parse(stdout.trim().split("\n").at(-1)!);
	return {
		requestsPerSecond: (measured.requests / measured.microseconds) * 1e6,
		p99Ms: measured.p99 / 1000,
		answers: measured.requests,
		failures: measured.failures,
	};
}

const nothing: LoadReport = {
	requestsPerSecond: 0,
	p99Ms: 0,
	answers: 0,
	failures: 0,
};
