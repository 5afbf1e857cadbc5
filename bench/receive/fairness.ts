import {
	compared,
	type Measurement,
	type Say,
} from "../measure/measurement.ts";
import type { Contenders } from "./contenders.ts";
import { load, measureMs, middle, rounds, warmUpMs } from "./leg.ts";
import type { LoadReport } from "./load-generator.ts";

const quietPerSecond = 200;

/**
 * A quiet source: alone, beside another source that sends as much as it can, and beside the same flood to fastify. The
 * last shows what the second load generator and server cost by themselves.
 */
export async function besideAFlood(
	{ receive, fastify }: Contenders,
	say: Say,
): Promise<Measurement[]> {
	const [flooding, quiet] = receive.paths as [string, string];
	const trickle = {
		paths: [quiet],
		connections: 64,
		requestsPerSecond: quietPerSecond,
	};
	const flood = {
		paths: [flooding],
		connections: 512,
		// It starts before the quiet source is measured, and ends after.
		measureMs: warmUpMs + 2 * measureMs,
	};
	const alone: LoadReport[] = [];
	const beside: LoadReport[] = [];
	const elsewhere: LoadReport[] = [];
	for (let round = 1; round <= rounds; round++) {
		alone.push(await load(receive, trickle));
		const flooded = load(receive, flood);
		beside.push(await load(receive, trickle));
		const { requestsPerSecond } = await flooded;
		const busy = load(fastify, flood);
		elsewhere.push(await load(receive, trickle));
		await busy;
		const p99 = (reports: LoadReport[]) =>
			`${reports.at(-1)!.p99Ms.toFixed(1)} ms`;
		say(
			`a quiet source, round ${round} of ${rounds}: 99th percentile ${p99(alone)} alone, ${p99(beside)} beside ${Math.round(requestsPerSecond)}/s of another, ${p99(elsewhere)} beside a flood of fastify`,
		);
	}
	return [
		["alone", alone],
		["beside the same flood of another server", elsewhere],
	].flatMap(([what, baseline]) =>
		(["p50Ms", "p99Ms"] as const).map((field) =>
			compared(
				`${field === "p50Ms" ? "median" : "99th percentile"} latency of a source with ${quietPerSecond}/s beside one that floods, against ${what}`,
				"ms",
				middle(beside, field),
				middle(baseline as LoadReport[], field),
			),
		),
	);
}
