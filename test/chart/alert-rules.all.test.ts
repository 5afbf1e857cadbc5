// On a laptop nothing proves this: Prometheus and Helm are built for minutes.
import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { cp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
// yaml: reads and writes YAML 1.2.
import { parseAllDocuments, stringify } from "yaml";
import { resolveBinaries } from "../../local/binaries/resolve.ts";
import { helm } from "../../tools/generate/chart/install-yaml.ts";
import { chart, examples } from "../support/chart/render.ts";
import type { Rendered } from "../support/chart/rendered.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";

/* The files in alert-rules/ are for promtool: https://prometheus.io/docs/prometheus/latest/configuration/unit_testing_rules/ */

const files = join(import.meta.dirname, "alert-rules");
/** Releases that share a Prometheus. */
const releases = [
	{
		file: "tidemill.rules.yaml",
		args: ["tidemill", "--namespace=tidemill-system"],
		// Two groups of archive.
		values: ["shards=9", "archive.shardsPerProcess=8"],
	},
	{
		file: "second.rules.yaml",
		args: ["second", "--namespace=tidemill-system"],
		values: [
			"api.replicas=0",
			"notify.replicas=0",
			"receive.autoscaling.enabled=true",
		],
	},
	{
		file: "staging.rules.yaml",
		args: ["tidemill", "--namespace=staging"],
		values: [],
	},
];

let directory: string;
let promtool: string;

beforeAll(async () => {
	({ promtool } = await resolveBinaries(["promtool"]));
	directory = await temporaryDirectory("alert-rules");
	await cp(files, directory, { recursive: true });
	for (const { file, args, values } of releases)
		await writeFile(
			join(directory, file),
			await rulesOf([
				...args,
				...[
					"nats.replicas=3",
					"nats.tls.enabled=true",
					"nats.maxFileStoreBytes=15000000000",
					"archive.streamMaxBytes=1000000000",
					"nats.storage.size=16Gi",
					"metrics.prometheusRule.enabled=true",
					"metrics.prometheusRule.exporters.nats=true",
					...values,
				].map((value) => `--set=${value}`),
			]),
		);
});

async function rulesOf(args: string[]): Promise<string> {
	const text = await helm(
		"template",
		args[0]!,
		chart,
		`--values=${examples.get("try-out")}`,
		"--api-versions=monitoring.coreos.com/v1/PrometheusRule",
		...args.slice(1),
	);
	const rule = parseAllDocuments(text)
		.map((document) => document.toJS() as Rendered | null)
		.find((object) => object?.kind === "PrometheusRule");
	return stringify(rule!.spec);
}

async function run(...args: string[]): Promise<string> {
	const { stdout } = await promisify(execFile)(promtool, args, {
		cwd: directory,
	}).catch((error) => {
		throw new Error(
			`promtool ${args.join(" ")}: ${error.stdout}${error.stderr}`,
		);
	});
	return stdout;
}

test.each(releases)(
	"promtool finds nothing wrong with $file",
	async ({ file }) => {
		expect(
			await run("check", "rules", "--lint=all", "--lint-fatal", file),
		).toMatch(/SUCCESS: \d\d rules found/);
	},
);

test.each(globSync("*.yaml", { cwd: files }).toSorted())(
	"promtool test rules: %s",
	async (file) => {
		expect(await run("test", "rules", file)).toContain("SUCCESS");
	},
);
