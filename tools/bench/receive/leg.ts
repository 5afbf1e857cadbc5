import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { figure, type Measurement, type Say } from "../measure/measurement.ts";
import { cpuMs, sourcesEnvironment } from "../measure/process-cost.ts";
import { alternate as alternateRounds } from "../measure/rounds.ts";
import type { LoadOrder, LoadReport } from "../traffic/load-generator.ts";
import { closedLoop } from "../traffic/wrk.ts";
import type { Contender } from "./contenders.ts";

/** Where each round starts its servers: V8 still compiles during the first leg. */
export const legsOfRound = 3;
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
	const report = await (order.requestsPerSecond
		? openModel(order)
		: closedLoop(order));
	if (report.failures > 0)
		throw new Error(
			`${report.failures} requests to ${order.paths[0]} were not answered 200, so there is nothing to measure`,
		);
	return report;
}

async function openModel(order: LoadOrder): Promise<LoadReport> {
	const { stdout } = await promisify(execFile)(
		process.execPath,
		[
			// The collector's threads would take cores from the servers, each time for longer than an answer takes.
			"--single-threaded-gc",
			new URL("../traffic/load-generator.ts", import.meta.url).pathname,
			JSON.stringify(order),
		],
		{ env: sourcesEnvironment() },
	);
	return JSON.parse(stdout);
}

/** A leg with the CPU time that each process took for an answer, in microseconds. */
type CostlyLeg<Name extends string> = LoadReport & {
	cpuUs: Record<Name, number>;
};

export async function withCpu<Name extends string>(
	pids: Record<Name, number>,
	leg: () => Promise<LoadReport>,
): Promise<CostlyLeg<Name>> {
	const names = Object.keys(pids) as Name[];
	const before = await Promise.all(names.map((name) => cpuMs(pids[name])));
	const report = await leg();
	const after = await Promise.all(names.map((name) => cpuMs(pids[name])));
	const cpuUs = Object.fromEntries(
		names.map((name, i) => [
			name,
			((after[i]! - before[i]!) * 1000) / report.answers,
		]),
	) as Record<Name, number>;
	return { ...report, cpuUs };
}

/** A figure for each process, and one for all. @param when ends its name. */
export function cpuOf<Name extends string>(
	legs: readonly CostlyLeg<Name>[],
	when: string,
): Measurement[] {
	const names = Object.keys(legs[0]!.cpuUs) as Name[];
	const all = legs.map(({ cpuUs }) =>
		names.reduce((sum, name) => sum + cpuUs[name], 0),
	);
	return [
		...names.map((name) =>
			figure(
				`CPU of ${name} ${when}`,
				legs.map(({ cpuUs }) => cpuUs[name]),
				"µs/event",
			),
		),
		figure(`CPU of all ${when}`, all, "µs/event"),
	];
}

/** {@link alternateRounds} of load. */
export function alternate<Legs extends Record<string, LoadReport>>(
	what: string,
	legs: { [Name in keyof Legs]: () => Promise<Legs[Name]> },
	options: { say: Say; after(): Promise<void>; count: number },
): Promise<{ [Name in keyof Legs]: Legs[Name][] }> {
	const text = ({ requestsPerSecond, p99Ms }: LoadReport) =>
		`${Math.round(requestsPerSecond)}/s, p99 ${p99Ms.toFixed(1)} ms`;
	return alternateRounds(what, legs, { text, ...options });
}

/** A field of the rounds' reports. */
export function each(
	reports: readonly LoadReport[],
	field: "requestsPerSecond" | "p99Ms",
): number[] {
	return reports.map((report) => report[field]);
}
