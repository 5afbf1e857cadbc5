import { appendFile, mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundleProgram } from "../../test/lanes/program.ts";
import { cellsOf, headings } from "./measure/figures.ts";
import { conditions, requireDisk } from "./measure/machine.ts";
import type { Bench, Measurement } from "./measure/measurement.ts";

/** The benches, by the name for `ONLY`. */
const benches: Record<string, () => Promise<{ bench: Bench }>> = {
	receive: () => import("./receive/bench.ts"),
	"whole-path": () => import("./whole-path/bench.ts"),
	"receive-plan": () => import("./receive/plan.ts"),
	strangers: () => import("./strangers/bench.ts"),
	tail: () => import("./tail/bench.ts"),
	receipts: () => import("./receipts/bench.ts"),
	archive: () => import("./archive/throughput.ts"),
	"many-sources": () => import("./archive/many-sources.ts"),
	"archive-memory": () => import("./archive/memory.ts"),
	flush: () => import("./archive/flush.ts"),
	requests: () => import("./archive/requests.ts"),
	load: () => import("./load/bench.ts"),
	"load-postgres": () => import("./load/postgres.ts"),
	"load-clickhouse": () => import("./load/clickhouse.ts"),
	"load-minute": () => import("./load/minute.ts"),
	"load-large-bodies": () => import("./load/large-bodies.ts"),
	"load-start": () => import("./load/start.ts"),
	compaction: () => import("./compaction/bench.ts"),
	operator: () => import("./operator/bench.ts"),
	"run-path": () => import("./run-path/bench.ts"),
	"waiting-runs": () => import("./operator/waiting-runs.ts"),
	"ended-runs": () => import("./operator/ended-runs.ts"),
	api: () => import("./api/bench.ts"),
	console: () => import("./console/bench.ts"),
	"cli-start": () => import("./cli/start.ts"),
	"scale-operator": () => import("./scale/operator.ts"),
	"scale-ledger": () => import("./scale/ledger.ts"),
	"scale-bucket": () => import("./scale/bucket.ts"),
	year: () => import("./year/bench.ts"),
};

/** `make bench ONLY=receive` passes it as the only argument. */
const only = process.argv[2];
if (only && !Object.hasOwn(benches, only)) {
	console.error(
		`bench: there is no bench "${only}". Set ONLY to one of: ${Object.keys(benches).join(", ")}.`,
	);
	process.exit(2);
}

const project = new URL("../..", import.meta.url).pathname;
const home = process.env.TIDEMILL_HOME || join(project, ".tidemill");
const file = join(home, "bench.jsonl");
await mkdir(home, { recursive: true });
await requireDisk(tmpdir()).catch((error: Error) => {
	console.error(`bench: ${error.message}`);
	process.exit(2);
});
// As in the image.
await bundleProgram();
for (const [name, load] of Object.entries(benches)) {
	if (only && name !== only) continue;
	const { bench } = await load();
	console.error(`${name}: ${bench.about}`);
	const noteConditions = conditions(project);
	const measurements = await bench.run((progress) =>
		console.error(`  ${progress}`),
	);
	console.log(`\n${table(name, measurements)}\n`);
	const noted = noteConditions();
	for (const measurement of measurements)
		await appendFile(
			file,
			`${JSON.stringify({ bench: name, ...measurement, ...noted })}\n`,
		);
}
console.error(
	`Appended to ${file}. \`node tools/bench/tables.ts\` takes each figure's last line into tools/bench/README.md.`,
);

function table(name: string, measurements: Measurement[]): string {
	const rows = [[name, ...headings.slice(1)], ...measurements.map(cellsOf)];
	const widths = rows[0]!.map((_, column) =>
		Math.max(...rows.map((row) => row[column]!.length)),
	);
	return rows
		.map((row) =>
			row
				.map((cell, column) => cell.padEnd(widths[column]!))
				.join("  ")
				.trimEnd(),
		)
		.join("\n");
}
