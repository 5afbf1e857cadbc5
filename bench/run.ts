import { execFileSync } from "node:child_process";
import { appendFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Bench, Measurement } from "./measure/measurement.ts";

/** The benches, by the name for `ONLY`. */
const benches: Record<string, () => Promise<{ bench: Bench }>> = {
	receive: () => import("./receive/bench.ts"),
	"receive-plan": () => import("./receive/plan.ts"),
	tail: () => import("./tail/bench.ts"),
	receipts: () => import("./receipts/bench.ts"),
	archive: () => import("./archive/throughput.ts"),
	"many-sources": () => import("./archive/many-sources.ts"),
	"archive-memory": () => import("./archive/memory.ts"),
	ledger: () => import("./archive/ledger.ts"),
	flush: () => import("./archive/flush.ts"),
	load: () => import("./load/bench.ts"),
	"load-minute": () => import("./load/minute.ts"),
	"load-start": () => import("./load/start.ts"),
	compaction: () => import("./compaction/bench.ts"),
	operator: () => import("./operator/bench.ts"),
	"ended-runs": () => import("./operator/ended-runs.ts"),
	api: () => import("./api/bench.ts"),
};

/** `make bench ONLY=receive` passes it as the only argument. */
const only = process.argv[2];
if (only && !Object.hasOwn(benches, only)) {
	console.error(
		`bench: there is no bench "${only}". Set ONLY to one of: ${Object.keys(benches).join(", ")}.`,
	);
	process.exit(2);
}

const project = new URL("..", import.meta.url).pathname;
const home = process.env.TIDEMILL_HOME || join(project, ".tidemill");
const file = join(home, "bench.jsonl");
const commit = execFileSync("git", ["describe", "--always", "--dirty"], {
	cwd: project,
	encoding: "utf8",
}).trim();
await mkdir(home, { recursive: true });
for (const [name, load] of Object.entries(benches)) {
	if (only && name !== only) continue;
	const { bench } = await load();
	console.error(`${name}: ${bench.about}`);
	const measurements = await bench.run((progress) =>
		console.error(`  ${progress}`),
	);
	console.log(`\n${table(name, measurements)}\n`);
	for (const measurement of measurements)
		await appendFile(
			file,
			`${JSON.stringify({ bench: name, ...measurement, commit })}\n`,
		);
}
console.error(`Appended to ${file}.`);

function table(name: string, measurements: Measurement[]): string {
	const rows = [
		[name, "value", "baseline", "ratio", "unit"],
		...measurements.map(({ metric, value, unit, baseline, ratio }) => [
			metric,
			figure(value),
			figure(baseline),
			ratio === undefined ? "" : ratio.toFixed(2),
			unit,
		]),
	];
	const widths = rows[0]!.map((_, column) =>
		Math.max(...rows.map((row) => row[column]!.length)),
	);
	return rows
		.map((row) =>
			row
				.map((cell, column) =>
					// Text is left-aligned, numbers are right-aligned.
					column === 0 || column === row.length - 1
						? cell.padEnd(widths[column]!)
						: cell.padStart(widths[column]!),
				)
				.join("  ")
				.trimEnd(),
		)
		.join("\n");
}

function figure(value: number | undefined): string {
	return (
		value?.toLocaleString("en", {
			maximumFractionDigits: value < 100 ? 2 : 0,
		}) ?? ""
	);
}
