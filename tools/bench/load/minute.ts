import { join } from "node:path";
import { dayMs } from "../../../packages/contracts/utc-date.ts";
import { figure, type Measurement } from "../measure/measurement.ts";
import { roundsOf } from "../measure/rounds.ts";
import { load } from "./load-process.ts";
import { manifestOf, upload, writeEventFiles } from "./objects.ts";
import type { LoadBench } from "./warehouses.ts";

const events = Number(process.env.BENCH_EVENTS ?? 10_000_000);
const minutes = 1_440;
const rounds = roundsOf(5);

/** A scheduled Run of a minute's events into a day that the table holds but for them, beside the first Run of that day. */
export async function newMinutes({
	warehouse: { name, goals },
	directory,
	s3,
	destination,
	env = {},
	say,
}: LoadBench): Promise<Measurement[]> {
	const stepMs = dayMs / minutes / Math.floor(events / minutes);
	const files = await writeEventFiles(join(directory, "objects"), {
		events,
		objects: minutes,
		days: 1,
		stepMs,
	});
	const objects = await upload(s3, files);
	say(`uploaded ${minutes} objects of ${objects[0]!.rows} events`);
	const run = (count: number) =>
		load(manifestOf(objects.slice(0, count)), destination, directory, {
			env,
			input: { adds: true },
		});
	const whole = await run(minutes - rounds);
	say(`the day into ${name}: ${whole.seconds.toFixed(1)} s`);
	const seconds: number[] = [];
	for (let round = 1; round <= rounds; round++) {
		const cost = await run(minutes - rounds + round);
		seconds.push(cost.seconds);
		say(`${name}, round ${round} of ${rounds}: ${cost.seconds.toFixed(2)} s`);
	}
	return [
		figure(`the whole day into ${name}`, whole.seconds, "s"),
		figure(`one new minute into ${name}`, seconds, "s", goals.minute),
	];
}
