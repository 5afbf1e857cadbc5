// On a laptop nothing proves this: Prometheus and Helm are built for minutes.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
	type AlertSeries,
	allUp,
	firingOn,
	ownRules,
	type RulesFile,
	targetLabels,
	writeRules,
} from "../support/alerts/firing.ts";
import { examples, render } from "../support/chart/render.ts";

const root = join(import.meta.dirname, "../..");
const enabled = [
	`--values=${examples.get("try-out")}`,
	"--set=metrics.prometheusRule.enabled=true",
];

/** The rules that the chart gives Prometheus, with each exporter unless `args` says otherwise. */
async function rendered(...args: string[]): Promise<RulesFile["groups"]> {
	const objects = await render(
		...enabled,
		"--set=metrics.prometheusRule.exporters.nats=true",
		"--set=nats.replicas=3",
		"--set=nats.tls.enabled=true",
		...args,
	);
	const { spec } = objects.find(({ kind }) => kind === "PrometheusRule")!;
	return (spec as unknown as RulesFile).groups;
}

const groups = await rendered();
const rulesFile = await writeRules({ groups });
const rules = groups.flatMap(({ rules }) => rules);
const startMs = Date.UTC(2026, 2, 10);
const startSeconds = startMs / 1000;
const day = 86_400;

/** Of one of our own metrics, or of NATS's exporter. */
function target(
	name: string,
	labels: Record<string, string>,
	start: number,
	step = 0,
): AlertSeries {
	return {
		labels: { __name__: name, ...targetLabels, ...labels },
		start,
		step,
	};
}

function series(
	name: string,
	labels: Record<string, string>,
	start: number,
	step = 0,
): AlertSeries {
	return target(`tidemill_${name}`, labels, start, step);
}

/** Of kube-state-metrics or the kubelet. */
function cluster(
	name: string,
	labels: Record<string, string>,
	start: number,
	step = 0,
): AlertSeries {
	const { namespace } = targetLabels;
	return { labels: { __name__: name, namespace, ...labels }, start, step };
}

const replicas = (
	deployment: string,
	ready: number,
	wanted = 2,
): AlertSeries[] => [
	cluster("kube_deployment_spec_replicas", { deployment }, wanted),
	cluster("kube_deployment_status_replicas_ready", { deployment }, ready),
];

const servers = (
	statefulset: string,
	ready: number,
	wanted: number,
): AlertSeries[] => [
	cluster("kube_statefulset_replicas", { statefulset }, wanted),
	cluster("kube_statefulset_status_replicas_ready", { statefulset }, ready),
];

const gibibyte = 1024 ** 3;
const natsVolume = { persistentvolumeclaim: "data-tidemill-nats-0" };
const volume = (
	labels: Record<string, string>,
	freeBytes: number,
	freeInodes = 90_000,
	freedBytesPerMinute = 0,
): AlertSeries[] => [
	cluster("kubelet_volume_stats_capacity_bytes", labels, 16 * gibibyte),
	cluster(
		"kubelet_volume_stats_available_bytes",
		labels,
		freeBytes,
		freedBytesPerMinute,
	),
	cluster("kubelet_volume_stats_inodes", labels, 100_000),
	cluster("kubelet_volume_stats_inodes_free", labels, freeInodes),
];

const nats = { pod: "tidemill-nats-0" };
const stream = {
	...nats,
	stream_name: "KV_tidemill-routes",
	stream_leader: "tidemill-nats-1",
	is_stream_leader: "false",
};
const server = {
	...nats,
	meta_leader: "tidemill-nats-1",
	is_meta_leader: "false",
};

const shard = { shard: "0" };
const pipeline = { account: "shop", pipeline: "orders" };
const leads = target("leader_election_master_status", { pod: "a" }, 1);
/** An installation in which all is well, with the figures just below each limit. */
const healthy: AlertSeries[] = [
	leads,
	{ ...leads, labels: { ...leads.labels, pod: "b" }, start: 0 },
	series("archive_alarm", shard, 0),
	series("archive_bucket_refused", {}, 0),
	series("archive_stream_up", shard, 1),
	series("archive_stream_up", { shard: "1" }, 1),
	series("archive_lag_seconds", shard, 299),
	series("archive_lost_frames", shard, 0),
	series("archive_unknown_losses", shard, 0),
	series("archive_backlog_bytes", shard, 590),
	series("archive_backlog_limit_bytes", shard, 1_000),
	series("receive_requests_total", { code: "OK" }, 0, 1_000),
	series("receive_requests_total", { code: "StorageUnavailable" }, 0, 9),
	series("receive_requests_total", { code: "Unauthorized" }, 0, 500),
	series("receive_routes_age_seconds", {}, 299),
	series("nats_account_missing", { role: "receive" }, 0),
	target("workqueue_longest_failing_seconds", { name: "run" }, 299),
	series("operator_clock_ahead_seconds", {}, -29),
	series("pipeline_overdue_seconds", pipeline, 3_599),
	series(
		"token_expiry_timestamp_seconds",
		{ account: "shop", token: "t" },
		startSeconds + 8 * day,
	),
	series(
		"certificate_expiry_timestamp_seconds",
		{ server: "nats:4222" },
		startSeconds + 15 * day,
	),
	series("resources", { kind: "Source", account: "shop", ready: "True" }, 9),
	...allUp,
	cluster("kube_namespace_created", {}, startSeconds),
	...["receive", "archive", "operator", "api", "notify"].flatMap((component) =>
		replicas(`tidemill-${component}`, 2),
	),
	...servers("tidemill-nats", 3, 3),
	...servers("tidemill-s3", 1, 1),
	...volume(natsVolume, 4 * gibibyte),
	target("nats_healthz_status", nats, 0),
	target("nats_varz_slow_consumers", nats, 3),
	target("nats_varz_jetstream_config_max_storage", nats, 12 * gibibyte),
	target("nats_varz_jetstream_stats_storage", nats, 10 * gibibyte),
	target("nats_varz_jetstream_config_max_memory", nats, gibibyte),
	target("nats_varz_jetstream_stats_memory", nats, 0),
	target("nats_server_total_streams", server, 20),
	target("nats_stream_total_bytes", stream, 1_000),
];

const componentUp = (component: string, value: number): AlertSeries =>
	target(
		"up",
		{
			app_kubernetes_io_component: component,
			tidemill_dev_shards: component === "archive" ? "group-0" : "",
		},
		value,
	);

test("an installation in which all is well fires no alert", async () => {
	expect(await firingOn(healthy, startMs, rulesFile)).toEqual([]);
});

/** What each alert is about: a healthy installation with these series instead or in addition. */
const reasons: Record<string, AlertSeries[]> = {
	TidemillReceiveDown: [componentUp("receive", 0)],
	TidemillArchiveDown: [componentUp("archive", 0)],
	TidemillOperatorDown: [componentUp("operator", 0)],
	TidemillAPIDown: replicas("tidemill-api", 0),
	TidemillNotifyDown: [componentUp("notify", 0)],
	TidemillNATSDown: servers("tidemill-nats", 0, 3),
	TidemillS3Down: servers("tidemill-s3", 0, 1),
	TidemillReplicasMissing: replicas("tidemill-archive", 1),
	TidemillResourcesNotReady: [
		series(
			"resources",
			{ kind: "Destination", account: "shop", ready: "False" },
			1,
		),
	],
	TidemillNamespaceNotServed: [
		series("watched_namespace_not_permitted", { account: "shop" }, 1),
	],
	TidemillInstallationOverlap: [
		series(
			"installation_overlap",
			{ account: "shop", other: "other-system/tidemill", has_it: "other" },
			1,
		),
	],
	TidemillRestoreAwaited: [series("restore_awaited", {}, 1)],
	TidemillNATSAccountMissing: [
		series("nats_account_missing", { role: "api" }, 1),
	],
	TidemillVolumeFull: volume(natsVolume, 0.7 * gibibyte),
	TidemillVolumeFills: volume(
		natsVolume,
		3 * gibibyte,
		90_000,
		-gibibyte / 60 / 12,
	),
	TidemillNATSNoLeader: [
		target(
			"nats_stream_total_bytes",
			{ ...stream, stream_name: "other", stream_leader: "" },
			1_000,
		),
	],
	TidemillNATSNotCurrent: [target("nats_healthz_status", nats, 1)],
	TidemillNATSSlowConsumers: [target("nats_varz_slow_consumers", nats, 3, 1)],
	TidemillJetStreamFills: [
		target("nats_varz_jetstream_stats_storage", nats, 11 * gibibyte),
	],
	TidemillArchiveAlarm: [series("archive_alarm", shard, 1)],
	TidemillBucketRefused: [series("archive_bucket_refused", {}, 1)],
	TidemillArchiveLags: [series("archive_lag_seconds", shard, 301)],
	TidemillArchiveWorkFails: [
		series("archive_failing_seconds", { work: "retention" }, 3_601),
	],
	// Shard 0 still tells its figures.
	TidemillArchiveLagUnknown: [series("archive_stream_up", { shard: "1" }, 0)],
	TidemillFramesLost: [series("archive_lost_frames", shard, 1)],
	TidemillBufferFills: [series("archive_backlog_bytes", shard, 610)],
	TidemillReceiveFails: [
		series("receive_requests_total", { code: "StorageUnavailable" }, 0, 20),
	],
	TidemillRoutesAreOld: [series("receive_routes_age_seconds", {}, 301)],
	TidemillOperatorHasNoLeader: [{ ...leads, start: 0 }],
	TidemillOperatorFails: [
		target("workqueue_longest_failing_seconds", { name: "source" }, 301),
	],
	// Behind is as bad as ahead.
	TidemillClockOff: [series("operator_clock_ahead_seconds", {}, -31)],
	TidemillLedgerMismatch: [
		series("pipeline_failed", { ...pipeline, code: "ObjectMismatch" }, 1),
	],
	TidemillRunFailed: [
		series("pipeline_failed", { ...pipeline, code: "DestinationBusy" }, 1),
	],
	TidemillDestinationUnbound: [
		series("destination_unbound", { account: "shop", destination: "lake" }, 1),
	],
	TidemillValuesUnfit: [series("pipeline_values_unfit", pipeline, 1)],
	TidemillPipelineLate: [series("pipeline_overdue_seconds", pipeline, 3_601)],
	TidemillTokenExpires: [
		series(
			"token_expiry_timestamp_seconds",
			{ account: "shop", token: "t" },
			startSeconds + 6 * day,
		),
	],
	TidemillCertificateExpires: [
		series(
			"certificate_expiry_timestamp_seconds",
			{ server: "nats:4222" },
			startSeconds + 13 * day,
		),
	],
};

const keyOf = ({ labels }: AlertSeries) => JSON.stringify(labels);

test.each(Object.entries(reasons))(
	"%s fires for its reason, and no other alert does",
	async (alert, instead) => {
		const replaced = new Set(instead.map(keyOf));
		const others = healthy.filter((each) => !replaced.has(keyOf(each)));
		const found = await firingOn([...others, ...instead], startMs, rulesFile);
		expect(found.map(({ alert }) => alert)).toEqual([alert]);
		expect(found[0]!.annotations.summary).not.toMatch(/[{}]|<no value>|<error/);
	},
);

test("TidemillArchiveLagUnknown names the shard that doesn't answer", async () => {
	const silent = series("archive_stream_up", { shard: "2" }, 0);
	const [found] = await firingOn([...healthy, silent], startMs, rulesFile);
	expect(found?.annotations.summary).toBe(
		"Nobody knows how far archive is with shard 2.",
	);
});

test("TidemillArchiveLagUnknown fires when nobody tells the lag", async () => {
	const silent = healthy.filter(
		({ labels }) => !labels.__name__?.startsWith("tidemill_archive_"),
	);
	const found = await firingOn(silent, startMs, rulesFile);
	expect(found.map(({ alert }) => alert)).toEqual([
		"TidemillArchiveLagUnknown",
	]);
});

test.each([
	["kube-state-metrics", "kube_"],
	["the kubelet", "kubelet_"],
	["prometheus-nats-exporter", "nats_"],
])(
	"TidemillExporterAbsent fires when %s tells nothing, and no other alert does",
	async (_, prefix) => {
		const silent = healthy.filter(
			({ labels }) => !labels.__name__?.startsWith(prefix),
		);
		const found = await firingOn(silent, startMs, rulesFile);
		expect(found.map(({ alert }) => alert)).toEqual(["TidemillExporterAbsent"]);
	},
);

test("every alert has its test", () => {
	expect(
		[...Object.keys(reasons), "TidemillExporterAbsent"].toSorted(),
	).toEqual([...new Set(rules.map(({ alert }) => alert))].toSorted());
});

test("each alert pages or makes a ticket, and says whose it is and which exporter it needs", () => {
	for (const { labels } of rules) {
		expect(labels).toMatchObject({
			namespace: "tidemill-system",
			release: "tidemill",
			severity: expect.stringMatching(/^(critical|warning)$/),
			exporter: expect.stringMatching(
				/^(tidemill|kube-state-metrics|kubelet|prometheus-nats-exporter)$/,
			),
		});
	}
});

test("each rule looks at one release alone", () => {
	const blind = rules.flatMap(({ expr }) =>
		// A metric's name stands before its matchers; all else in lower case with "_" is a label's.
		(expr.match(/\b[a-z]+(?:_[a-z]+)+\b(?:\{[^}]*\})?|\bup\{[^}]*\}/g) ?? [])
			.filter((selector) => selector.includes("{"))
			.filter((selector) => !selector.includes('namespace="tidemill-system"')),
	);
	expect(blind).toEqual([]);
	const metrics = rules.flatMap(({ expr }) =>
		[
			...expr.matchAll(
				/\b(?:up|(?:tidemill|controller_runtime|leader_election|workqueue|kube|kubelet|nats)_\w+)\b(?!_)(.)?/g,
			),
		]
			.filter(([name]) => !name.startsWith("tidemill_dev_"))
			.map(([, next]) => next),
	);
	expect(new Set(metrics)).toEqual(new Set(["{"]));
	// With a regular expression `absent` fires only if everything that it matches is gone.
	expect(rules.filter(({ expr }) => /absent\([^)]*=~/.test(expr))).toEqual([]);
	expect(rules.filter(({ expr }) => expr.includes("$("))).toEqual([]);
});

test("the tests of the processes validate by the same rules that Helm renders", () => {
	const plain = ({ alert, expr }: { alert: string; expr: string }) => ({
		alert,
		expr: expr.trim(),
	});
	expect(ownRules().rules.map(plain)).toEqual(groups[0]!.rules.map(plain));
});

test.each([
	["tidemill", "tidemill"],
	["kubeStateMetrics", "tidemill-kube-state-metrics"],
	["kubelet", "tidemill-kubelet"],
	["nats", "tidemill-nats"],
])("without the exporter %s its group is left out", async (value, group) => {
	const left = await rendered(
		`--set=metrics.prometheusRule.exporters.${value}=false`,
	);
	expect(left.map(({ name }) => name)).toEqual(
		groups.map(({ name }) => name).filter((name) => name !== group),
	);
});

test("all that Prometheus scrapes has the labels by which the rules select", async () => {
	const objects = await Promise.all(
		["podMonitor", "serviceMonitor"].map((monitor) =>
			render(...enabled, `--set=metrics.${monitor}.enabled=true`),
		),
	);
	const monitors = objects
		.flat()
		.filter(({ kind }) => kind.endsWith("Monitor"));
	expect(monitors).toHaveLength(2);
	for (const { spec } of monitors)
		expect(spec).toMatchObject({
			podTargetLabels: [
				"app.kubernetes.io/instance",
				"app.kubernetes.io/component",
				"tidemill.dev/shards",
			],
		});
});

test("NATS's exporter tells what the rules ask for, and brings its alerts along", async () => {
	const objects = await render(...enabled, "--set=nats.exporter.enabled=true");
	const { args } = objects
		.filter(({ kind }) => kind === "StatefulSet")
		.flatMap(({ spec }) => spec.template.spec.containers)
		.find(({ name }) => name === "exporter")!;
	expect(args).toEqual(
		expect.arrayContaining(["-prefix=nats", "-varz", "-healthz", "-jsz=all"]),
	);
	const groupsOf = (all: typeof objects) =>
		(
			all.find(({ kind }) => kind === "PrometheusRule")!
				.spec as unknown as RulesFile
		).groups.map(({ name }) => name);
	expect(groupsOf(objects)).toContain("tidemill-nats");
	expect(groupsOf(await render(...enabled))).not.toContain("tidemill-nats");
});

test("a component that the release doesn't have has no alerts", async () => {
	const left = await rendered(
		"--set=api.replicas=0",
		"--set=notify.replicas=0",
		`--values=${examples.get("own-nats-and-store")}`,
		"--set=s3.enabled=false",
	);
	const components = left.flatMap(({ rules }) =>
		rules.map(({ labels }) => labels.component),
	);
	expect(new Set(components)).toEqual(
		new Set([undefined, "receive", "archive", "operator"]),
	);
	expect(left.map(({ name }) => name)).toEqual([
		"tidemill",
		"tidemill-kube-state-metrics",
	]);
});

test("each metric of an alert exists", () => {
	const page = readFileSync(join(root, "docs/reference/metrics.md"), "utf8");
	const names = rules.flatMap(
		({ expr }) =>
			expr.match(
				// tidemill_dev_shards is a label.
				/\b(?:tidemill_(?!dev_)|controller_runtime_|leader_election_|workqueue_)\w+/g,
			) ?? [],
	);
	expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

test.each([
	...new Map(
		rules.map((rule) => [`${rule.alert} ${rule.labels.exporter}`, rule]),
	).values(),
])(
	"$alert ($labels.exporter) has a runbook with its severity, and the page of alerts lists it",
	({ alert, labels, annotations }) => {
		const page = `docs/runbooks/${alert}.md`;
		expect(annotations.runbook_url).toBe(
			`https://github.com/tidemill/tidemill/blob/main/${page}`,
		);
		expect(existsSync(join(root, page))).toBe(true);
		const text = readFileSync(join(root, page), "utf8");
		expect(text).toContain(`Severity: ${labels.severity}.`);
		for (const part of [
			"What it means",
			"What people notice",
			"Look first",
			"Fix it",
		])
			expect(text).toContain(`## ${part}\n`);
		const overview = readFileSync(
			join(root, "docs/reference/alerts.md"),
			"utf8",
		);
		const row = overview
			.split("\n")
			.find((line) => line.includes(`| [${alert}](../runbooks/${alert}.md) |`));
		expect(row).toContain(`| ${labels.severity} |`);
		expect(row!.split(" | ")[2]).toContain(labels.exporter);
	},
);
