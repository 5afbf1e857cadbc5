import {
	compared,
	type Measurement,
	type Say,
} from "../measure/measurement.ts";
import type { Contenders } from "./contenders.ts";
import {
	alternate,
	each,
	legsOfRound,
	load,
	measureMs,
	warmUpMs,
} from "./leg.ts";

const quietPerSecond = 200;

/** A quiet source: alone, and beside another source that sends as much as it can. */
export async function besideAFlood(
	{ receive, emptyStreams }: Contenders,
	say: Say,
): Promise<Measurement[]> {
	const [flooding, quiet] = receive.paths as [string, string];
	const trickle = () =>
		load(receive, {
			paths: [quiet],
			connections: 64,
			requestsPerSecond: quietPerSecond,
		});
	const beside = async () => {
		const flood = load(receive, {
			paths: [flooding],
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
		{ alone: trickle, beside },
		{ say, after: emptyStreams, count: legsOfRound },
	);
	return [
		compared(
			`99th percentile of a source with ${quietPerSecond}/s beside one that floods, against alone`,
			"ms",
			each(legs.beside, "p99Ms"),
			each(legs.alone, "p99Ms"),
			{ ratioAtMost: 3 },
		),
	];
}
