import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Lane, type LaneOptions } from "./lanes/lane.ts";
import { bundleProgram } from "./lanes/program.ts";
import { failedTests, slowestFiles, sumUp } from "./lanes/report.ts";

/** Lanes that run side by side. */
type Stage = Record<
	string,
	Pick<LaneOptions, "projects" | "folders" | "without">
>;

/** Those of the data plane's faults that have the operator's beside them, so that all lanes end together. */
const compaction = "test/faults/data-plane/compaction";

/*
 * `make test` and `make e2e`: lanes of a stage run side by side, each as a vitest process of its own; stages run one after the
 * other. A lane waits about half of its time, so four keep two cores busy. What measures time has the machine to itself.
 */
const suites: Record<string, Stage[]> = {
	test: [
		{ check: { projects: ["unit", "slow"] } },
		{
			control: {
				projects: ["control-plane"],
				folders: ["test/control-plane/"],
			},
			// With a control plane of its own, which costs less than what the lane would wait longer without.
			outages: {
				projects: ["control-plane", "data-plane", "chaos"],
				folders: [
					"test/faults/control-plane/",
					compaction,
					"test/faults/chaos/",
				],
			},
			data: { projects: ["data-plane"], folders: ["test/data-plane/"] },
			promises: {
				projects: ["promises", "data-plane"],
				folders: ["test/promises/", "test/faults/data-plane/"],
				without: `${compaction}*`,
			},
		},
		{ alone: { projects: ["alone"] } },
	],
	e2e: [{ chart: { projects: ["chart"] } }, { e2e: { projects: ["e2e"] } }],
};
const [suite = "test"] = process.argv.slice(2);
const stages = suites[suite];
if (!stages)
	throw new Error(
		`There is no suite ${suite}; there are ${Object.keys(suites).join(" and ")}.`,
	);
/** With so many failures in one stage the next stages would say the same. */
const hopeless = 10;

const root = join(import.meta.dirname, "..");
const reports = join(root, ".tidemill/test-reports", suite);
await rm(reports, { recursive: true, force: true });
await mkdir(reports, { recursive: true });

for (const signal of ["SIGINT", "SIGTERM"] as const)
	process.once(signal, () => process.exit(1));
await bundleProgram();
const lanes: Lane[] = [];
let isHopeless = false;
for (const stage of stages) {
	const started = Object.entries(stage).map(
		([name, what]) => new Lane({ ...what, name, root, reports, hopeless }),
	);
	lanes.push(...started);
	if (isHopeless) continue;
	await Promise.all(started.map((lane) => lane.run()));
	isHopeless = sumUp(started).failed >= hopeless;
}

console.log("\nThe slowest files:");
for (const { file, seconds } of slowestFiles(lanes, 20))
	console.log(`${seconds.toFixed(1).padStart(7)} s  ${file}`);
console.log("\nThe lanes:");
for (const lane of lanes) console.log(`  ${lane.summary}`);
const failed = failedTests(lanes);
if (failed.length > 0) console.log("\nWhat failed:");
for (const each of failed) console.log(`  ${each}`);
const total = sumUp(lanes);
await writeFile(join(reports, "total.json"), JSON.stringify(total));
const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : "";
console.log(`\n${total.passed} passed, ${total.failed} failed${skipped}`);
process.exitCode = total.failed > 0 ? 1 : 0;
