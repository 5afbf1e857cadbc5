import { Registry } from "prom-client";
import { RequestMetrics } from "../../api/http/request-metrics.ts";
import { ArchiveMetrics } from "../../ingest/archive/write/archive-metrics.ts";
import { CompactionMetrics } from "../../ingest/lake/compaction/metrics.ts";
import { notifyMetrics } from "../../ingest/notify/deliverer.ts";
import { observePlans, ReceiveMetrics } from "../../ingest/receive/metrics.ts";
import {
	type ObservedInformers,
	OperatorMetrics,
} from "../../operator/metrics.ts";
import { ServerClock } from "../../packages/kube/client/server-clock.ts";
import { registerKubeMetrics } from "../../packages/kube/metrics.ts";
import { observeBacklogs } from "../../packages/service/backlog-metrics.ts";
import { observeCertificates } from "../../packages/service/certificate-metrics.ts";
import { accountMetric } from "../../packages/streams/own-account.ts";
import { table } from "./markdown.ts";

/** A table of the metrics of each role, by what makes them. */
export const metricTables: Record<string, () => string> = {
	"ingest/receive/metrics.ts": () => {
		const receive = new Registry();
		new ReceiveMetrics(receive, { requests: 0, bytes: 0 }, { ageMs: () => 0 });
		observePlans(receive, {
			outcomes: new Map(),
			kinds: new Map(),
			restarts: 0,
			readiedAgain: 0,
			table: { counts: { compiled: 0, failed: 0 } },
		});
		return metricTable(receive);
	},
	"ingest/archive/write/archive-metrics.ts": () => {
		const archive = new Registry();
		const metrics = new ArchiveMetrics(
			archive,
			() => [],
			async () => [],
		);
		metrics.observeTails([]);
		new CompactionMetrics(metrics);
		observeCertificates(archive, []);
		return metricTable(archive);
	},
	"operator/metrics.ts": () => {
		const operator = new Registry();
		observeBacklogs(operator, async () => []);
		new OperatorMetrics(
			operator,
			{} as ObservedInformers,
			{ overlaps: [] },
			{ namesOf: () => [] },
			() => false,
			() => 0,
			new ServerClock(),
		);
		observeCertificates(operator, []);
		return metricTable(operator);
	},
	"api/http/request-metrics.ts": () => {
		const api = new Registry();
		new RequestMetrics(api);
		return metricTable(api);
	},
	"packages/kube/metrics.ts": () => {
		const kube = new Registry();
		registerKubeMetrics(kube);
		return metricTable(kube);
	},
	"packages/streams/own-account.ts": () => {
		const each = new Registry();
		accountMetric(each);
		return metricTable(each);
	},
	"ingest/notify/deliverer.ts": () => {
		const notify = new Registry();
		notifyMetrics(notify, () => 0);
		return metricTable(notify);
	},
};

/** What prom-client knows of a metric; its own type leaves the labels out. */
interface Described {
	name: string;
	help: string;
	type: string;
	labelNames: string[];
}

function metricTable(registry: Registry): string {
	const metrics = registry.getMetricsAsArray() as unknown as Described[];
	return table(
		["Metric", "Type", "Labels", "Meaning"],
		metrics.map(({ name, help, type, labelNames }) => [
			`\`${name}\``,
			type,
			labelNames.map((label) => `\`${label}\``).join(", "),
			help,
		]),
	).join("\n");
}
