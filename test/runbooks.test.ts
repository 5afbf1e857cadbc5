import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
// yaml: reads YAML 1.2.
import { parse } from "yaml";
import type { RulesFile } from "./support/alerts/firing.ts";
import { commandsIn, runbookOf } from "./support/alerts/runbook.ts";

/* Each alert is caused on real servers by some test, and what its runbook's commands are about can be found. */

const root = join(import.meta.dirname, "..");
const rules = parse(
	readFileSync(join(root, "charts/tidemill/files/alerts.yaml"), "utf8"),
) as RulesFile;
const alerts = [
	...new Set(
		rules.groups.flatMap((group) => group.rules).map(({ alert }) => alert),
	),
].toSorted();

const ofTheCluster =
	"Prometheus, kube-state-metrics and a kubelet tell it, which no test runs; promtool tries it on series.";
const ofNatsExporter =
	"prometheus-nats-exporter tells it, which no test runs; promtool tries it on series.";
/** What no test causes, and why. */
const notCaused: Record<string, string> = {
	TidemillReceiveDown: ofTheCluster,
	TidemillArchiveDown: ofTheCluster,
	TidemillOperatorDown: ofTheCluster,
	TidemillAPIDown: ofTheCluster,
	TidemillNotifyDown: ofTheCluster,
	TidemillNATSDown: ofTheCluster,
	TidemillS3Down: ofTheCluster,
	TidemillReplicasMissing: ofTheCluster,
	TidemillExporterAbsent: ofTheCluster,
	TidemillVolumeFull: ofTheCluster,
	TidemillVolumeFills: ofTheCluster,
	TidemillNATSNoLeader: ofNatsExporter,
	TidemillNATSNotCurrent: ofNatsExporter,
	TidemillNATSSlowConsumers: ofNatsExporter,
	TidemillJetStreamFills: ofNatsExporter,
	TidemillArchiveWorkFails:
		"Its metric has unit tests; the work must fail for an hour.",
	TidemillDestinationUnbound:
		"Only a Destination of an earlier version causes it; its metric has unit tests.",
	TidemillNATSAccountMissing:
		"Its metric has unit tests, and test/data-plane/nats-upgrade.laptop.test.ts causes what it tells.",
	TidemillInstallationOverlap:
		"Its metric has unit tests, and test/control-plane/installations.all.test.ts causes what it tells.",
};

test("each alert is caused on real servers, or it is said why not", () => {
	const tests = globSync("{test,ingest}/**/*.{laptop,all,deep}.test.ts", {
		cwd: root,
		// There its series are made up.
		exclude: ["test/chart/**"],
	})
		.map((file) => readFileSync(join(root, file), "utf8"))
		.join("\n");
	const caused = alerts.filter((alert) => tests.includes(`"${alert}"`));
	expect([...caused, ...Object.keys(notCaused)].toSorted()).toEqual(alerts);
});

const commands = alerts.flatMap((alert) =>
	commandsIn(runbookOf(alert)).map((command) => ({ alert, command })),
);

test("each runbook has commands, and none of them runs a shell's tools in an image made from scratch", () => {
	expect(new Set(commands.map(({ alert }) => alert))).toEqual(new Set(alerts));
	const others = commands.filter(
		({ command }) =>
			/kubectl exec/.test(command) && !/ -- (node|tidemill)\b/.test(command),
	);
	expect(others).toEqual([]);
});

test("a command about an object of the installation names its namespace", () => {
	const without = commands.filter(
		({ command }) =>
			/[/ ]tidemill-(?!system)\w+/.test(command) &&
			!command.includes("--namespace tidemill-system"),
	);
	expect(without).toEqual([]);
});

test("a command that forwards a port waits until it is open, and closes it", () => {
	const forwards = commands.filter(({ command }) =>
		command.includes("port-forward"),
	);
	expect(forwards.length).toBeGreaterThan(5);
	for (const { command } of forwards)
		expect(command).toMatch(
			/ & curl --retry 9 --retry-connrefused .*; kill \$!$/,
		);
});
