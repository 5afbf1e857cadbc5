import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryDirectory } from "../../../test/support/servers/test-server.ts";
import {
	type Bench,
	compared,
	type Goal,
	type Measurement,
	type Say,
} from "../measure/measurement.ts";
import { partsOf, roundsOf, wholeRounds } from "../measure/rounds.ts";
import { githubBodies } from "../traffic/bodies.ts";
import type { LoadOrder } from "../traffic/load-generator.ts";
import { type Contenders, startContenders } from "./contenders.ts";
import { besideAFlood } from "./fairness.ts";
import { alternate, cpuOf, each, legsOfRound, load, withCpu } from "./leg.ts";
import { memory } from "./memory.ts";

const closedLoops = [
	{ connections: 128, goal: 0.97 },
	{ connections: 512, goal: 1 },
];
/** A new generator is slow at first. The requests that pile up meanwhile are done within one and a half seconds. */
const openModelLeg = { warmUpMs: 2_000, measureMs: 5_000 };
const manySources = 1_000;
/** Large bodies get fewer connections, since receive limits the bytes in flight. */
const sizes: { name: string; order: Partial<LoadOrder> }[] = [
	{ name: "10 KB", order: { bodyBytes: 10_000 } },
	{ name: "GitHub's webhooks (9.9 KB)", order: {} },
	{ name: "100 KB", order: { bodyBytes: 100_000, connections: 64 } },
	{ name: "1 MB", order: { bodyBytes: 1_000_000, connections: 16 } },
];
/** Receive with every write synced, against servers that give the same answer and store nothing, or store each event by itself. */
export const bench: Bench = {
	about:
		"events/s over HTTP, acknowledged by JetStream with sync_interval: always; baselines: fastify, plain and tuned, nothing stored",
	run: (say) => wholeRounds(roundsOf(5), say, () => measureAnew(say)),
};

/** With servers of their own: one start of a process can be a quarter slower than the next, for as long as it runs. */
async function measureAnew(say: Say): Promise<Measurement[]> {
	const contenders = await startContenders(manySources);
	const measures = {
		closed: closedLoop,
		publish: againstPublishPerEvent,
		open: openModel,
		bodies: bySize,
		sources: bySources,
		flood: besideAFlood,
		memory,
	};
	try {
		const measurements: Measurement[] = [];
		for (const part of partsOf(measures))
			measurements.push(...(await measures[part](contenders, say)));
		return measurements;
	} finally {
		await contenders.stop();
	}
}

async function closedLoop(
	{ plain, tuned, receive, pids, emptyStreams }: Contenders,
	say: Say,
): Promise<Measurement[]> {
	const measurements: Measurement[] = [];
	for (const { connections, goal } of closedLoops) {
		const order = { connections };
		const legs = await alternate(
			`${connections} connections`,
			{
				plain: () => load(plain, order),
				tuned: () => load(tuned, order),
				receive: () => withCpu(pids, () => load(receive, order)),
			},
			{ say, after: emptyStreams, count: legsOfRound },
		);
		const against = (baseline: "plain" | "tuned", goal?: Goal) =>
			compared(
				`throughput at ${connections} connections, against ${baseline} fastify`,
				"events/s",
				each(legs.receive, "requestsPerSecond"),
				each(legs[baseline], "requestsPerSecond"),
				goal,
			);
		measurements.push(
			against("plain", { ratioAtLeast: goal }),
			against("tuned"),
			...cpuOf(legs.receive, `at ${connections} connections`),
		);
	}
	return measurements;
}

async function againstPublishPerEvent(
	{ receive, publishPerEvent, emptyStreams }: Contenders,
	say: Say,
): Promise<Measurement[]> {
	const legs = await alternate(
		"128 connections",
		{ each: () => load(publishPerEvent, {}), receive: () => load(receive, {}) },
		{ say, after: emptyStreams, count: legsOfRound },
	);
	return [
		compared(
			"throughput at 128 connections, against a publish per event",
			"events/s",
			each(legs.receive, "requestsPerSecond"),
			each(legs.each, "requestsPerSecond"),
			{ ratioAtLeast: 8 },
		),
	];
}

/**
 * At 70 % of the closed loop's maximum with as many connections. Each round measures the maximum first, since the machine's
 * speed changes within minutes.
 */
async function openModel(
	{ plain, receive, emptyStreams }: Contenders,
	say: Say,
): Promise<Measurement[]> {
	const connections = 512;
	let order: Partial<LoadOrder> = {};
	const atMost = async () => {
		const { requestsPerSecond } = await load(receive, { connections });
		order = {
			...openModelLeg,
			connections,
			requestsPerSecond: requestsPerSecond * 0.7,
		};
	};
	let legsSoFar = 0;
	const leg = (contender: typeof plain) => async () => {
		if (legsSoFar++ % 2 === 0) await atMost();
		return load(contender, order);
	};
	const legs = await alternate(
		"70 % of the maximum arriving",
		{ plain: leg(plain), receive: leg(receive) },
		{ say, after: emptyStreams, count: legsOfRound },
	);
	return [
		compared(
			"99th percentile, 70 % of the maximum arriving",
			"ms",
			each(legs.receive, "p99Ms"),
			each(legs.plain, "p99Ms"),
			{ atMost: 10 },
		),
	];
}

/** Plain fastify parses the body. */
async function bySize(
	{ plain, receive, emptyStreams }: Contenders,
	say: Say,
): Promise<Measurement[]> {
	const corpus = join(await temporaryDirectory("corpus"), "github.json");
	await writeFile(corpus, JSON.stringify(githubBodies()));
	const measurements: Measurement[] = [];
	for (const { name, order: own } of sizes) {
		const order = own.bodyBytes ? own : { corpus };
		const legs = await alternate(
			name,
			{
				plain: () => load(plain, order),
				receive: () => load(receive, order),
			},
			{ say, after: emptyStreams, count: legsOfRound },
		);
		measurements.push(
			compared(
				`bodies of ${name}, ${order.connections ?? 128} connections, against fastify that parses`,
				"events/s",
				each(legs.receive, "requestsPerSecond"),
				each(legs.plain, "requestsPerSecond"),
				{ ratioAtLeast: 1 },
			),
		);
	}
	return measurements;
}

/** Many sources, against one. */
async function bySources(
	{ receive, emptyStreams }: Contenders,
	say: Say,
): Promise<Measurement[]> {
	const legs = await alternate(
		"sources",
		{
			one: () => load(receive, {}),
			many: () => load(receive, { paths: receive.paths }),
		},
		{ say, after: emptyStreams, count: legsOfRound },
	);
	return [
		compared(
			`throughput with ${manySources} sources, against one`,
			"events/s",
			each(legs.many, "requestsPerSecond"),
			each(legs.one, "requestsPerSecond"),
		),
	];
}
