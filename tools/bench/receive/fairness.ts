import {
	compared,
	type Measurement,
	type Say,
} from "../measure/measurement.ts";
import type { LoadReport } from "../traffic/load-generator.ts";
import type { Contender, Contenders } from "./contenders.ts";
import {
	alternate,
	each,
	legsOfRound,
	load,
	measureMs,
	warmUpMs,
} from "./leg.ts";

const quietPerSecond = 200;

/**
 * A quiet source: alone, beside another source that sends as much as it can, and beside the same flood to fastify. The
 * last shows what the second load generator and server cost by themselves.
 */
export async function besideAFlood(
	{ receive, plain, emptyStreams }: Contenders,
	say: Say,
): Promise<Measurement[]> {
	const [flooding, quiet] = receive.paths as [string, string];
	const trickle = () =>
		load(receive, {
			paths: [quiet],
			connections: 64,
			requestsPerSecond: quietPerSecond,
		});
	const besideFloodOf =
		(contender: Contender, path: string) => async (): Promise<LoadReport> => {
			const flood = load(contender, {
				paths: [path],
				connections: 512,
				// It starts before the quiet source is measured, and ends after.
				measureMs: warmUpMs + 2 * measureMs,
			});
			const report = await trickle();
			await flood;
			return report;
		};
	const legs = await alternate(
		"a quiet source",
		{
			alone: trickle,
			beside: besideFloodOf(receive, flooding),
			elsewhere: besideFloodOf(plain, plain.paths[0]!),
		},
		{ say, after: emptyStreams, count: legsOfRound },
	);
	const baselines = [
		["alone", legs.alone],
		["beside the same flood of another server", legs.elsewhere],
	] as const;
	return baselines.flatMap(([what, baseline]) =>
		(["p50Ms", "p99Ms"] as const).map((field) =>
			compared(
				`${field === "p50Ms" ? "median latency" : "99th percentile"} of a source with ${quietPerSecond}/s beside one that floods, against ${what}`,
				"ms",
				each(legs.beside, field),
				each(baseline, field),
				what === "alone" ? { ratioAtMost: 3 } : undefined,
			),
		),
	);
}
