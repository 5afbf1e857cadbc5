import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { median } from "../measure/measurement.ts";
import type { Contender } from "./contenders.ts";
import type { LoadOrder, LoadReport } from "./load-generator.ts";

/** Rounds of alternating legs; the median counts. With three rounds, four runs of the same code had ratios from 0.78 to 0.93. */
export const rounds = 7;
export const warmUpMs = 1_000;
export const measureMs = 3_000;

/** The size of an ordinary webhook. */
const ordinaryBytes = 495;

/**
 * One leg of load, from its own process: a closed loop over 128 connections to one source, unless `change` says otherwise.
 * Throws if an answer is not 200.
 */
export async function load(
	contender: Contender,
	change: Partial<LoadOrder>,
): Promise<LoadReport> {
	const order: LoadOrder = {
		...contender,
		paths: contender.paths.slice(0, 1),
		bodyBytes: ordinaryBytes,
		connections: 128,
		warmUpMs,
		measureMs,
		...change,
	};
	const { stdout } = await promisify(execFile)(process.execPath, [
		// The collector's threads would take cores from the servers, each time for longer than an answer takes.
		"--single-threaded-gc",
		new URL("load-generator.ts", import.meta.url).pathname,
		JSON.stringify(order),
	]);
	const report = JSON.parse(stdout) as LoadReport;
	if (report.failures > 0)
		throw new Error(
			`${report.failures} requests to ${order.paths[0]} were not answered 200, so there is nothing to measure`,
		);
	return report;
}

export function perSecond({ requestsPerSecond }: LoadReport): string {
	return `${Math.round(requestsPerSecond)}/s`;
}

/** The median of a field over the rounds. */
export function middle(
	reports: readonly LoadReport[],
	field: keyof LoadReport,
): number {
	return median(reports.map((report) => report[field]));
}
