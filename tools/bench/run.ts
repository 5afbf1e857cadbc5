import { appendFile, mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundleProgram } from "../../test/lanes/program.ts";
import { tableOf } from "./measure/figures.ts";
import { conditions, requireDisk } from "./measure/machine.ts";
import type { Bench } from "./measure/measurement.ts";

/** The benches, by the name for `ONLY`. */
const benches: Record<string, () => Promise<{ bench: Bench }>> = {
	receive: () => import("./receive/bench.ts"),
	"whole-path": () => import("./whole-path/bench.ts"),
	archive: () => import("./archive/bench.ts"),
	load: () => import("./load/bench.ts"),
	compaction: () => import("./compaction/bench.ts"),
	operator: () => import("./operator/bench.ts"),
	api: () => import("./api/bench.ts"),
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
	const noted = noteConditions();
	console.log(`\n${tableOf(name, measurements, noted)}\n`);
	for (const measurement of measurements)
		await appendFile(
			file,
			`${JSON.stringify({ bench: name, ...measurement, ...noted })}\n`,
		);
}
console.error(`Appended to ${file}.`);
