import { figure, type Measurement, type Say } from "../measure/measurement.ts";
import { memory as processMemory } from "../measure/process-cost.ts";
import type { Contenders } from "./contenders.ts";
import { load } from "./leg.ts";

/** The goal is for `BENCH_MINUTES=10`. */
const memoryMinutes = Number(process.env.BENCH_MINUTES || 0.5);
const legMs = 5_000;

/** Memory under full load for some minutes. */
export async function memory(
	{ receive, pids, emptyStreams }: Contenders,
	say: Say,
): Promise<Measurement[]> {
	const legs = Math.max(4, Math.round((memoryMinutes * 60_000) / legMs));
	const resident: number[] = [];
	let events = 0;
	for (let leg = 1; leg <= legs; leg++) {
		const { answers } = await load(receive, {
			connections: 512,
			warmUpMs: 0,
			measureMs: legMs,
		});
		events += answers;
		const { residentBytes } = await processMemory(pids.receive);
		resident.push(residentBytes / 1e6);
		await emptyStreams();
		if (leg % Math.ceil(legs / 10) === 0)
			say(
				`${((leg * legMs) / 60_000).toFixed(1)} min of full load, ${(events / 1e6).toFixed(1)} million events: ${(residentBytes / 1e6).toFixed(1)} MB resident`,
			);
	}
	const after = `${((legs * legMs) / 60_000).toFixed(1)} min of full load`;
	return [
		figure(`resident memory, most in ${after}`, Math.max(...resident), "MB", {
			atMost: 200,
		}),
	];
}
