import {
	compared,
	figure,
	type Measurement,
	type Say,
} from "../measure/measurement.ts";
import { alternate, roundsOf } from "../measure/rounds.ts";
import { cpuOf, each, load, withCpu } from "../receive/leg.ts";
import { type Path, untilArchived } from "./path.ts";

const minutes = Number(process.env.BENCH_MINUTES || 5);
/** Long enough for an archive that is a fifth too slow to be seen. */
const tryMs = Math.min(30_000, minutes * 60_000);
const tries = 4;
const connections = 512;
/** Archive keeps up while no event waits for longer. What isn't a full cut waits for two seconds by itself. */
const maxBehindMs = 5_000;

/**
 * The highest rate at which archive keeps up with receive on the same cores, held for some minutes in each round, beside the closed
 * loop's rate of the tuned fastify. Short tries between half and all of receive's closed loop find the rate; a round that fails is tried
 * again a twentieth slower.
 */
export async function sustained(path: Path, say: Say): Promise<Measurement[]> {
	let rate = await highestRate(path, say);
	const holdLong = async (): Promise<Held> => {
		for (; ; rate *= 0.95) {
			const held = await hold(path, rate, minutes * 60_000, say);
			if (held.keepsUp) return held;
		}
	};
	const { tuned, held } = await alternate(
		`${minutes} min`,
		{
			tuned: async () => {
				const report = await load(path.tuned, {
					connections,
					measureMs: tryMs,
				});
				return { ...report, behindMs: 0 };
			},
			held: holdLong,
		},
		{
			count: roundsOf(3),
			say,
			text: ({ requestsPerSecond }) => `${Math.round(requestsPerSecond)}/s`,
		},
	);
	const when = `at the rate held for ${minutes} min`;
	return [
		compared(
			`rate at which archive keeps up for ${minutes} min`,
			"events/s",
			each(held, "requestsPerSecond"),
			each(tuned, "requestsPerSecond"),
			{ ratioAtLeast: 0.85 },
		),
		figure(`99th percentile ${when}`, each(held, "p99Ms"), "ms"),
		figure(
			`age of the oldest event not in S3 ${when}`,
			held.map(({ behindMs }) => behindMs),
			"ms",
		),
		...cpuOf(held, when),
	];
}

/** A try fails above the closed loop's rate, once V8 has compiled the code, and works at half of it. */
async function highestRate(path: Path, say: Say): Promise<number> {
	const order = { connections, measureMs: tryMs };
	const { requestsPerSecond } = await load(path.receive, order);
	await untilArchived(path);
	let [held, missed] = [requestsPerSecond / 2, requestsPerSecond];
	for (let n = 0; n < tries; n++) {
		const rate = (held + missed) / 2;
		if ((await hold(path, rate, tryMs, say)).keepsUp) held = rate;
		else missed = rate;
	}
	return held;
}

type Held = Awaited<ReturnType<typeof hold>>;

async function hold(path: Path, rate: number, measureMs: number, say: Say) {
	const order = { connections, requestsPerSecond: rate, measureMs };
	const report = await withCpu(path.pids, () => load(path.receive, order));
	const behindMs = await path.behindMs();
	const keepsUp =
		behindMs <= maxBehindMs && report.requestsPerSecond >= rate * 0.98;
	say(
		`${Math.round(rate)}/s for ${measureMs / 1000} s: ${Math.round(report.requestsPerSecond)}/s answered, archive is ${Math.round(behindMs)} ms behind`,
	);
	await untilArchived(path);
	return { ...report, behindMs, keepsUp };
}
