import { mkdir, rm, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { mapConcurrently } from "../packages/fair/fair-limit.ts";
import { Lane } from "./lanes/lane.ts";
import { bundleProgram } from "./lanes/program.ts";
import { failedTests, slowestFiles, sumUp } from "./lanes/report.ts";
import { filesToTryAgain } from "./lanes/second-try.ts";
import { suiteOf } from "./lanes/suites.ts";

/** `make test` runs the tier `laptop`, and `make test-all` the tier `all`, whose chosen rooms may follow. */
const [tier = "laptop", ...only] = process.argv.slice(2);
if (tier !== "laptop" && tier !== "all")
	throw new Error(`There is no tier ${tier} here; there are laptop and all.`);
const stages = suiteOf(tier)
	.map((stage) =>
		stage.filter(({ project }) => !only.length || only.includes(project)),
	)
	.filter((stage) => stage.length > 0);
if (stages.length === 0)
	throw new Error(`No room of the tier ${tier} is called ${only.join()}.`);
/** A lane waits much of its time, so a few keep a core busy. Of more, each would wait so long that deadlines pass. */
const lanesAtOnce = 3 * availableParallelism();
/** With so many failures in one stage the next stages would say the same. */
const hopeless = 10;
/** More than any tier takes on a busy machine. What CI stops itself says nothing of what failed until then. */
const deadlineMs = performance.now() + 60 * 60_000;

const root = join(import.meta.dirname, "..");
const reports = join(root, ".tidemill/test-reports", tier);
await rm(reports, { recursive: true, force: true });
await mkdir(reports, { recursive: true });

for (const signal of ["SIGINT", "SIGTERM"] as const)
	process.once(signal, () => process.exit(1));
await bundleProgram();
const lanes: Lane[] = [];
let isHopeless = false;
for (const stage of stages) {
	const started = stage.map(
		(what) => new Lane({ ...what, root, reports, hopeless, deadlineMs }),
	);
	lanes.push(...started);
	if (isHopeless) continue;
	await mapConcurrently(started, lanesAtOnce, (lane) => lane.run());
	isHopeless = sumUp(started).failed >= hopeless;
}

const failedAtFirst = failedTests(lanes);
// On a laptop a person tries again, and knows what else the machine did meanwhile.
if (process.env.CI)
	for (const { lane, files } of filesToTryAgain(lanes))
		await lane.tryAgain(files);

console.log("\nThe slowest files:");
for (const { file, seconds, cpuSeconds } of slowestFiles(lanes, 20))
	console.log(
		`${seconds.toFixed(1).padStart(7)} s  ${cpuSeconds === undefined ? "" : `${cpuSeconds.toFixed(1).padStart(7)} s of CPU  `}${file}`,
	);
console.log("\nThe lanes:");
for (const lane of lanes) console.log(`  ${lane.summary}`);
const failed = failedTests(lanes);
const unsteady = failedAtFirst.filter((each) => !failed.includes(each));
tell("What failed and passed when it was tried again, alone:", unsteady);
tell("What failed:", failed);
const total = sumUp(lanes);
await writeFile(
	join(reports, "total.json"),
	JSON.stringify({ ...total, failures: failed, unsteady }),
);
const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : "";
console.log(`\n${total.passed} passed, ${total.failed} failed${skipped}`);
process.exitCode = total.failed > 0 ? 1 : 0;

function tell(title: string, tests: string[]): void {
	if (tests.length > 0) console.log(`\n${title}`);
	for (const each of tests) console.log(`  ${each}`);
}
