import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { ArchiveMetrics } from "../ingest/archive/metrics.ts";
import { ReceiveMetrics } from "../ingest/receive/metrics.ts";
import { registerKubeMetrics } from "../kube/metrics.ts";

test("docs/reference/metrics.md has every metric of every role", async () => {
	await expect(page()).toMatchFileSnapshot("../docs/reference/metrics.md");
});

function page(): string {
	const receive = new Registry();
	new ReceiveMetrics(receive, { requests: 0, bytes: 0 }, { ageMs: () => 0 });
	const archive = new Registry();
	new ArchiveMetrics(
		archive,
		() => [],
		async () => [],
	);
	const operator = new Registry();
	registerKubeMetrics(operator);
	return [
		introduction,
		"## receive\n",
		...table(receive),
		"## archive\n",
		...table(archive),
		"## operator\n",
		"As controller-runtime, client-go's workqueue and leaderelection name them, so that their dashboards and alerts work.\n",
		...table(operator),
	].join("\n");
}

/** What prom-client knows of a metric; its own type leaves the labels out. */
interface Described {
	name: string;
	help: string;
	type: string;
	labelNames: string[];
}

function table(registry: Registry): string[] {
	const metrics = registry.getMetricsAsArray() as unknown as Described[];
	return [
		"| Metric | Type | Labels | Meaning |",
		"| --- | --- | --- | --- |",
		...metrics.map(
			({ name, help, type, labelNames }) =>
				`| \`${name}\` | ${type} | ${labelNames.map((label) => `\`${label}\``).join(", ")} | ${help.replaceAll("<", "\\<")} |`,
		),
		"",
	];
}

const introduction = `# Metrics

<!-- Written from the roles' metrics by "npm run unit -- test/metrics-page -u". Change those instead. -->

Every role serves \`/metrics\` for Prometheus on its health port (\`HEALTH_PORT\`), beside \`/healthz\` and \`/readyz\`. All have the
usual metrics of a process as well (\`process_*\`, \`nodejs_*\`: memory, CPU, event loop, garbage collection).
`;
