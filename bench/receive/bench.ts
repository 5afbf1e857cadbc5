import {
	type Bench,
	compared,
	figure,
	type Measurement,
	type Say,
	slope,
} from "../measure/measurement.ts";
import { memory as processMemory } from "../measure/process-cost.ts";
import { type Contenders, startContenders } from "./contenders.ts";
import { besideAFlood } from "./fairness.ts";
import { load, middle, perSecond, rounds } from "./leg.ts";
import type { LoadReport } from "./load-generator.ts";

const connectionCounts = [128, 512];
/** The goal is for `BENCH_MINUTES=10`. */
const memoryMinutes = Number(process.env.BENCH_MINUTES || 0.5);
const memoryLegMs = 5_000;
/** A new generator is slow at first. The requests that pile up meanwhile are done within one and a half seconds. */
const openModelLeg = { warmUpMs: 2_000, measureMs: 5_000 };
const sourceCounts = [1, 100, 1_000];
/** For figures without a goal. */
const shortRounds = 3;
/** Large bodies get fewer connections, since receive limits the bytes in flight. */
const sizes = [
	{ name: "1 KB", bytes: 1_000, connections: 128 },
	{ name: "10 KB", bytes: 10_000, connections: 128 },
	{ name: "100 KB", bytes: 100_000, connections: 64 },
	{ name: "1 MB", bytes: 1_000_000, connections: 16 },
];

/** Receive with every write synced, against servers that give the same answer and store nothing, or store each event by itself. */
export const bench: Bench = {
	about:
		"events/s over HTTP, acknowledged by JetStream with sync_interval: always; baseline: plain fastify, nothing stored",
	async run(say) {
		const contenders = await startContenders(Math.max(...sourceCounts));
		try {
			const closed: Measurement[] = [];
			for (const connections of connectionCounts)
				closed.push(...(await closedLoop(contenders, connections, say)));
			return [
				...closed,
				await againstPublishPerEvent(contenders, say),
				...(await openModel(contenders, say)),
				...(await bySize(contenders, say)),
				...(await bySources(contenders, say)),
				...(await besideAFlood(contenders, say)),
				...(await memory(contenders, say)),
			];
		} finally {
			await contenders.stop();
		}
	},
};

/** The two alternate, so that a slow machine slows both. */
async function closedLoop(
	{ fastify, receive, emptyStream }: Contenders,
	connections: number,
	say: Say,
): Promise<Measurement[]> {
	const plain: LoadReport[] = [];
	const stored: LoadReport[] = [];
	for (let round = 1; round <= rounds; round++) {
		plain.push(await load(fastify, { connections }));
		stored.push(await load(receive, { connections }));
		await emptyStream();
		say(
			`${connections} connections, round ${round} of ${rounds}: fastify ${perSecond(plain.at(-1)!)}, receive ${perSecond(stored.at(-1)!)}`,
		);
	}
	const against = (metric: string, unit: string, field: keyof LoadReport) =>
		compared(
			`${metric} at ${connections} connections`,
			unit,
			middle(stored, field),
			middle(plain, field),
		);
	return [
		against("throughput", "events/s", "requestsPerSecond"),
		against("median latency", "ms", "p50Ms"),
		against("99th percentile latency", "ms", "p99Ms"),
	];
}

async function againstPublishPerEvent(
	{ receive, publishPerEvent }: Contenders,
	say: Say,
): Promise<Measurement> {
	const each = await load(publishPerEvent, { connections: 128 });
	const together = await load(receive, { connections: 128 });
	say(
		`a publish per event: ${perSecond(each)}, receive ${perSecond(together)}`,
	);
	return compared(
		"throughput at 128 connections, against a publish per event",
		"events/s",
		together.requestsPerSecond,
		each.requestsPerSecond,
	);
}

/**
 * At 70 % of the closed loop's maximum with as many connections. Each round measures the maximum first, since the machine's
 * speed changes within minutes.
 */
async function openModel(
	{ fastify, receive, emptyStream }: Contenders,
	say: Say,
): Promise<Measurement[]> {
	const connections = 512;
	const plain: LoadReport[] = [];
	const stored: LoadReport[] = [];
	for (let round = 1; round <= rounds; round++) {
		const maximum = await load(receive, { connections });
		const requestsPerSecond = maximum.requestsPerSecond * 0.7;
		const order = { connections, requestsPerSecond, ...openModelLeg };
		plain.push(await load(fastify, order));
		stored.push(await load(receive, order));
		await emptyStream();
		say(
			`${Math.round(requestsPerSecond)}/s arriving of ${perSecond(maximum)}, round ${round} of ${rounds}: 99th percentile ${plain.at(-1)!.p99Ms.toFixed(1)} ms of fastify, ${stored.at(-1)!.p99Ms.toFixed(1)} ms of receive`,
		);
	}
	return (["p50Ms", "p99Ms"] as const).map((field) =>
		compared(
			`${field === "p50Ms" ? "median" : "99th percentile"} latency, 70 % of the maximum arriving`,
			"ms",
			middle(stored, field),
			middle(plain, field),
		),
	);
}

/** Against both baselines. */
async function bySize(
	{ fastify, receive, publishPerEvent, emptyStream }: Contenders,
	say: Say,
): Promise<Measurement[]> {
	const measurements: Measurement[] = [];
	for (const { name, bytes, connections } of sizes) {
		const order = { connections, bodyBytes: bytes };
		const plain: LoadReport[] = [];
		const each: LoadReport[] = [];
		const stored: LoadReport[] = [];
		for (let round = 1; round <= shortRounds; round++) {
			plain.push(await load(fastify, order));
			each.push(await load(publishPerEvent, order));
			stored.push(await load(receive, order));
			await emptyStream();
			say(
				`${name}, round ${round} of ${shortRounds}: fastify ${perSecond(plain.at(-1)!)}, a publish per event ${perSecond(each.at(-1)!)}, receive ${perSecond(stored.at(-1)!)}`,
			);
		}
		const against = (whom: string, baseline: readonly LoadReport[]) =>
			compared(
				`throughput with bodies of ${name}, ${connections} connections${whom}`,
				"events/s",
				middle(stored, "requestsPerSecond"),
				middle(baseline, "requestsPerSecond"),
			);
		measurements.push(
			against("", plain),
			against(", against a publish per event", each),
		);
	}
	return measurements;
}

/** Many sources, against one. */
async function bySources(
	{ receive, emptyStream }: Contenders,
	say: Say,
): Promise<Measurement[]> {
	const reports = sourceCounts.map((): LoadReport[] => []);
	for (let round = 1; round <= shortRounds; round++) {
		for (const [i, count] of sourceCounts.entries())
			reports[i]!.push(
				await load(receive, { paths: receive.paths.slice(0, count) }),
			);
		await emptyStream();
		const each = reports.map((all) => perSecond(all.at(-1)!));
		say(
			`${sourceCounts.join(", ")} sources, round ${round} of ${shortRounds}: ${each.join(", ")}`,
		);
	}
	const [one, ...others] = reports.map((all) =>
		middle(all, "requestsPerSecond"),
	);
	return others.map((value, i) =>
		compared(
			`throughput with ${sourceCounts[i + 1]} sources, against one`,
			"events/s",
			value,
			one!,
		),
	);
}

/** Memory under full load for some minutes. */
async function memory(
	{ receive, receivePid, emptyStream }: Contenders,
	say: Say,
): Promise<Measurement[]> {
	const legs = Math.max(4, Math.round((memoryMinutes * 60_000) / memoryLegMs));
	const minutes = (legs * memoryLegMs) / 60_000;
	const resident: { minute: number; megabytes: number }[] = [];
	let events = 0;
	for (let leg = 1; leg <= legs; leg++) {
		const { requestsPerSecond } = await load(receive, {
			connections: 512,
			warmUpMs: 0,
			measureMs: memoryLegMs,
		});
		events += requestsPerSecond * (memoryLegMs / 1000);
		const { residentBytes } = await processMemory(receivePid);
		resident.push({
			minute: (leg * memoryLegMs) / 60_000,
			megabytes: megabytes(residentBytes),
		});
		await emptyStream();
		if (leg % Math.ceil(legs / 10) === 0)
			say(
				`${resident.at(-1)!.minute.toFixed(1)} min of full load, ${Math.round(events / 1e5) / 10} million events: ${resident.at(-1)!.megabytes} MB resident`,
			);
	}
	// In the first third the heap is still finding its size.
	const settled = resident.slice(Math.floor(legs / 3));
	const after = `${Math.round(minutes * 10) / 10} min of full load`;
	return [
		figure(
			`resident memory, most in ${after}`,
			Math.max(...resident.map(({ megabytes }) => megabytes)),
			"MB",
		),
		figure(
			`its slope over the last two thirds of ${after}`,
			slope(settled.map(({ minute, megabytes }) => [minute, megabytes])),
			"MB a minute",
		),
	];
}

function megabytes(bytes: number): number {
	return Math.round(bytes / 1e5) / 10;
}
