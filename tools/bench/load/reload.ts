import { join } from "node:path";
import type { TableColumn } from "../../../packages/contracts/job.ts";
import { dayMs } from "../../../packages/contracts/utc-date.ts";
import { compared, figure, type Measurement } from "../measure/measurement.ts";
import { roundsOf } from "../measure/rounds.ts";
import { type LoadOptions, load } from "./load-process.ts";
import { firstDate, manifestOf, upload, writeEventFiles } from "./objects.ts";
import type { LoadBench } from "./warehouses.ts";

const events = Number(process.env.BENCH_EVENTS ?? 1_000_000);
const objects = 10;

const columns: TableColumn[] = [
	{ name: "event_id", from: "EventID" },
	{ name: "timestamp", from: "Timestamp" },
	{ name: "body", from: "Body" },
	{ name: "date", from: "Date" },
	{ name: "n", from: { bodyPointer: "/n", type: "Integer" } },
];

/** Runs that replace a day which the table holds, beside the first Run of that day: with its events, with others, and into another column. */
export async function reloads({
	warehouse: { name },
	directory,
	s3,
	destination,
	env = {},
	logged = async () => 0,
	clear,
	say,
}: LoadBench): Promise<Measurement[]> {
	const files = await writeEventFiles(join(directory, "objects"), {
		events: 2 * events,
		objects: 2 * objects,
		days: 1,
		stepMs: Math.floor(dayMs / events),
	});
	const uploaded = await upload(s3, files);
	const [day, others] = [uploaded.slice(0, objects), uploaded.slice(objects)];
	const input: LoadOptions["input"] = { acceptLoss: [firstDate] };
	const table = { name: "events", description: "", columns };
	const legs = [
		["its first events", day, input],
		["the same events", day, input],
		["other events", others, input],
		["those events with a column more", others, { ...input, table }],
	] as const;
	const seconds = legs.map((): number[] => []);
	const megabytes = legs.map((): number[] => []);
	const rounds = roundsOf(5);
	for (let round = 1; round <= rounds; round++) {
		for (const [leg, [, some, input]] of legs.entries()) {
			const before = await logged();
			const manifest = manifestOf(some);
			const cost = await load(manifest, destination, directory, { env, input });
			seconds[leg]!.push(cost.seconds);
			megabytes[leg]!.push(((await logged()) - before) / 1e6);
		}
		await clear();
		say(
			`${name}, round ${round} of ${rounds}: ${legs.map(([what], leg) => `${what} ${seconds[leg]!.at(-1)!.toFixed(2)} s and ${megabytes[leg]!.at(-1)!.toFixed(0)} MB of log`).join("; ")}`,
		);
	}
	const [first, ...again] = legs.map(([what], leg) => ({ what, leg }));
	return [
		figure(`a day's first events into ${name}`, seconds[first!.leg]!, "s"),
		...again.map(({ what, leg }) =>
			compared(`${what} into ${name}`, "s", seconds[leg]!, seconds[0]!),
		),
		...again.map(({ what, leg }) =>
			compared(
				`log of ${what} into ${name}`,
				"MB",
				megabytes[leg]!,
				megabytes[0]!,
			),
		),
	];
}
