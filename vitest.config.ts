import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import {
	defineConfig,
	type TestProjectInlineConfiguration,
} from "vitest/config";
import { sparingGo } from "./test/support/servers/test-server.ts";

const report = process.env.TEST_REPORT;
/** What else runs on the machine would be taken for receive's own slowness. */
const sensitive = ["test/**/receive-{fairness,outage,restarts}.test.ts"];
const exhaustive = "test/protocols/**/*-protocol.test.ts";
/** They take seconds each, of the half minute that `make check` may: they start processes, wait for time limits, load large libraries, or go through hundreds of schemas and payloads. */
const waiting = [
	"**/*.fuzz.test.ts",
	"api/http/connections.test.ts",
	"api/{main,server}.test.ts",
	"api/resources/changes.test.ts",
	"api/events/tail.test.ts",
	"cli/bin/tidemill.test.ts",
	"cli/completion-{scripts,shells}.test.ts",
	"cli/events/tail.test.ts",
	"local/kind.test.ts",
	"tools/image/build.test.ts",
	"ingest/lake/manifest/source-import.test.ts",
	"ingest/lake/release/date-release.test.ts",
	"packages/warehouses/load/retry.test.ts",
	"ingest/operation/draft.test.ts",
	"ingest/operation/import/parquet-rows.test.ts",
	"ingest/receive/http-server.test.ts",
	"ingest/receive/admission/long-work.test.ts",
	"ingest/receive/plan/{validation-thread,plan-memory}.test.ts",
	"ingest/receive/request/refusal-rate.test.ts",
	"ingest/wire/manifest-text.test.ts",
	"packages/kube/reconcile/kube-events.test.ts",
	"packages/kube/watch/object-wait.test.ts",
	"packages/service/health-server.test.ts",
	"local/{binaries/resolve,servers/pki,machine/lock}.test.ts",
	"operator/tracking-plan/schema-check.test.ts",
	"packages/tracking-plan/{compile,fuel,github,numbers,vectors}.test.ts",
	"test/protocols/provider-libraries.test.ts",
	"test/site.test.ts",
	"test/transport/nats-tls.test.ts",
	"test/warehouse-type.test.ts",
];
/** TEST_WITHOUT: globs of what another lane of test/run.ts has. Vitest's own --exclude says nothing to projects. */
const { TEST_WITHOUT: ofAnotherLane = "" } = process.env;
const elsewhere = [
	"**/node_modules/**",
	"**/.tidemill/**",
	...ofAnotherLane.split(",").filter(Boolean),
];

// What tests and their processes leave in the temporary directory goes with the run.
const temporary = mkdtempSync(join(tmpdir(), "tidemill-test-"));
process.env.TMPDIR = temporary;
// Kept for the next run: it saves a tenth of the unit tests' CPU time.
process.env.NODE_COMPILE_CACHE ??= join(
	import.meta.dirname,
	"node_modules/.compile-cache",
);
// For kubectl and Helm, too.
Object.assign(process.env, sparingGo);
process.on("exit", () =>
	rmSync(temporary, { recursive: true, force: true, maxRetries: 10 }),
);

/** It halves the time of collecting garbage. */
const largeYoungGeneration = ["--max-semi-space-size=64"];
const realServers = {
	execArgv: largeYoungGeneration,
	fileParallelism: false,
	testTimeout: 1_200_000,
	hookTimeout: 600_000,
};
/** The same in one process for all files: each would load the code anew for a second or two. */
const oneProcess = { ...realServers, isolate: false };

/** A project on real servers, of the tests in its folder unless it says others. */
function lane(
	groupOrder: number,
	name: string,
	servers: typeof realServers,
	test: TestProjectInlineConfiguration["test"],
): TestProjectInlineConfiguration {
	return {
		test: {
			name,
			sequence: { groupOrder },
			include: [`test/${name}/**/*.test.ts`],
			exclude: elsewhere,
			...servers,
			...test,
		},
	};
}

export default defineConfig({
	test: {
		// TEST_REPORT names a file for machines to read (test/run.ts counts by it).
		reporters: report
			? ["default", ["json", { outputFile: report }]]
			: ["default"],
		// Vitest would leave one core of two idle.
		maxWorkers: availableParallelism(),
		// Node itself reads TypeScript; Vite's transforms take longer.
		experimental: { viteModuleRunner: false },
		projects: [
			{
				test: {
					name: "unit",
					// One project after the other: on two cores, neighbours only make servers late.
					sequence: { groupOrder: 0 },
					include: ["**/*.test.ts"],
					exclude: [
						"test/{chart,console,control-plane,data-plane,faults,image,promises}/**",
						"test/node/*.test.ts",
						exhaustive,
						...waiting,
						...elsewhere,
					],
					execArgv: largeYoungGeneration,
					// Loading the code anew for each file takes longer than the tests do.
					isolate: false,
					// What takes a second alone may take ten beside others.
					testTimeout: 300_000,
					hookTimeout: 300_000,
				},
			},
			{
				test: {
					name: "slow",
					sequence: { groupOrder: 0 },
					include: [exhaustive, ...waiting],
					exclude: elsewhere,
					testTimeout: 600_000,
					hookTimeout: 600_000,
				},
			},
			lane(1, "chart", realServers, {
				globalSetup: ["test/lanes/program.ts", "test/control-plane/setup.ts"],
			}),
			lane(1, "image", realServers, {}),
			// One control plane for all files: an apiserver costs 5 s and 250 MB.
			lane(2, "control-plane", oneProcess, {
				include: ["test/{,faults/}control-plane/**/*.test.ts"],
				globalSetup: ["test/lanes/program.ts", "test/control-plane/setup.ts"],
			}),
			lane(3, "data-plane", oneProcess, {
				include: ["test/{,faults/}data-plane/**/*.test.ts"],
				exclude: [...sensitive, ...elsewhere],
				globalSetup: "test/lanes/program.ts",
			}),
			lane(4, "promises", oneProcess, {
				globalSetup: ["test/lanes/program.ts", "test/promises/setup.ts"],
			}),
			// One browser after the other: two would only make each other late.
			lane(4, "console", oneProcess, {
				globalSetup: ["test/lanes/program.ts", "test/console/setup.ts"],
			}),
			lane(5, "chaos", realServers, {
				include: ["test/faults/chaos/**/*.test.ts"],
				globalSetup: "test/lanes/program.ts",
			}),
			lane(6, "alone", realServers, {
				include: sensitive,
				globalSetup: "test/lanes/program.ts",
			}),
			// One node for all files, or the cluster of TIDEMILL_E2E_KUBECONFIG.
			lane(7, "e2e", realServers, {
				include: ["test/node/*.test.ts"],
				globalSetup: "test/node/setup.ts",
			}),
		],
	},
});
