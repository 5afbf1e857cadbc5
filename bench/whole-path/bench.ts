import {
	type Bench,
	compared,
	type Measurement,
	type Say,
} from "../measure/measurement.ts";
import {
	alternate,
	cpuOf,
	each,
	load,
	partsOf,
	withCpu,
} from "../receive/leg.ts";
import { type Path, untilArchived, withPath } from "./path.ts";
import { sustained } from "./sustained.ts";

const loops = [
	{ connections: 128, goal: 0.75 },
	{ connections: 512, goal: 0.85 },
];

/** Everything that an event passes on two cores: receive, NATS, archive and the S3 gateway. */
export const bench: Bench = {
	about:
		"events/s over HTTP while archive writes them to S3 on the same cores; baseline: tuned fastify, nothing stored",
	run: (say) =>
		withPath(async (path) => {
			const measures = { closed: closedLoops, sustained };
			const measurements: Measurement[] = [];
			for (const part of partsOf(measures))
				measurements.push(...(await measures[part](path, say)));
			return measurements;
		}),
};

async function closedLoops(path: Path, say: Say): Promise<Measurement[]> {
	const measurements: Measurement[] = [];
	for (const { connections, goal } of loops) {
		const legs = await alternate(
			`${connections} connections`,
			{
				tuned: () => load(path.tuned, { connections }),
				receive: () =>
					withCpu(path.pids, () => load(path.receive, { connections })),
			},
			{ say, after: () => untilArchived(path) },
		);
		measurements.push(
			compared(
				`throughput at ${connections} connections`,
				"events/s",
				each(legs.receive, "requestsPerSecond"),
				each(legs.tuned, "requestsPerSecond"),
				{ ratioAtLeast: goal },
			),
			...cpuOf(legs.receive, `at ${connections} connections`),
		);
	}
	return measurements;
}
