import {
	type Bench,
	compared,
	figure,
	type Measurement,
	type Say,
} from "../measure/measurement.ts";
import { partsOf, roundsOf } from "../measure/rounds.ts";
import {
	alternate,
	cpuOf,
	each,
	load,
	measureMs,
	withCpu,
} from "../receive/leg.ts";
import { type Path, untilArchived, withPath } from "./path.ts";

const loops = [
	{ connections: 128, goal: 0.8 },
	{ connections: 512, goal: 1 },
];
const minutes = Number(process.env.BENCH_MINUTES || 5);
/** What isn't a full cut waits for two seconds by itself. */
const maxBehindMs = 5_000;

/** Everything that an event passes on two cores: receive, NATS, archive and the S3 gateway. */
export const bench: Bench = {
	about:
		"events/s over HTTP while archive writes them to S3 on the same cores; baseline: tuned fastify, nothing stored",
	run: (say) =>
		withPath(async (path) => {
			const short = {
				name: "",
				measureMs,
				baselineMs: measureMs,
				rounds: roundsOf(15),
			};
			const sustained = {
				name: ` for ${minutes} min`,
				measureMs: minutes * 60_000,
				// It has nothing to keep up with.
				baselineMs: minutes * 12_000,
				rounds: roundsOf(3),
			};
			const measures = { closed: short, sustained };
			const measurements: Measurement[] = [];
			for (const part of partsOf(measures))
				measurements.push(...(await closedLoops(path, measures[part], say)));
			return measurements;
		}),
};

interface Length {
	/** For the names of the figures. */
	name: string;
	measureMs: number;
	baselineMs: number;
	rounds: number;
}

/**
 * Senders who send their next event when they have the last answer, so that receive gets as many as it can take, and archive has to
 * keep up with them.
 */
async function closedLoops(
	path: Path,
	length: Length,
	say: Say,
): Promise<Measurement[]> {
	const measurements: Measurement[] = [];
	for (const { connections, goal } of loops) {
		const when = `at ${connections} connections${length.name}`;
		const { receive, tuned } = await alternate(
			when,
			{
				tuned: () =>
					load(path.tuned, { connections, measureMs: length.baselineMs }),
				receive: async () => {
					const { measureMs } = length;
					const report = await withCpu(path.pids, () =>
						load(path.receive, { connections, measureMs }),
					);
					return { ...report, behindMs: await path.behindMs() };
				},
			},
			{ say, after: () => untilArchived(path), count: length.rounds },
		);
		measurements.push(
			compared(
				`throughput ${when}`,
				"events/s",
				each(receive, "requestsPerSecond"),
				each(tuned, "requestsPerSecond"),
				{ ratioAtLeast: goal },
			),
			figure(
				`age of the oldest event not in S3 ${when}`,
				receive.map(({ behindMs }) => behindMs),
				"ms",
				{ atMost: maxBehindMs },
			),
			...cpuOf(receive, when),
		);
	}
	return measurements;
}
