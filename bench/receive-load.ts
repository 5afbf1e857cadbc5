import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { LoadOrder, LoadReport } from "./load-generator.ts";
import { type Measurement, median } from "./measurement.ts";
import type { Contender } from "./receive-contenders.ts";

export type Say = (progress: string) => void;

/** Legs that alternate; their median counts. Medians of three lay between 0.78 and 0.93 of the baseline in four runs of the same code. */
export const rounds = 7;
export const warmUpMs = 1_000;
export const measureMs = 3_000;

/** The size of an ordinary webhook. */
const ordinaryBytes = 495;

/** One leg of load, by a process of its own: 128 connections in a closed loop to one source, unless told otherwise. Throws when an answer is not 200. */
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
		// The collector's own threads would take the cores from the servers, each time for longer than an answer takes.
		"--single-threaded-gc",
		new URL("load-generator.ts", import.meta.url).pathname,
		JSON.stringify(order),
	]);
	const report = JSON.parse(stdout) as LoadReport;
	if (report.failures > 0)
		throw new Error(
			`${report.failures} requests to ${order.paths[0]} were not answered 200: this is no measurement`,
		);
	return report;
}

export function compared(
	metric: string,
	unit: string,
	value: number,
	baseline: number,
): Measurement {
	return { metric, value, unit, baseline, ratio: value / baseline };
}

export function perSecond({ requestsPerSecond }: LoadReport): string {
	return `${Math.round(requestsPerSecond)}/s`;
}

/** A figure's median over the rounds. */
export function middle(
	reports: readonly LoadReport[],
	field: keyof LoadReport,
): number {
	return median(reports.map((report) => report[field]));
}
