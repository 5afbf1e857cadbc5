import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
// yaml: reads YAML 1.2.
import { parse } from "yaml";
import { metricsPage } from "../../generate/metrics-page.ts";
import {
	type AlertSeries,
	alertsFile,
	firingOn,
} from "../support/alerts/firing.ts";

interface Rule {
	alert: string;
	expr: string;
	labels: { severity: string };
	annotations: Record<"summary" | "description" | "runbook_url", string>;
}

const root = join(import.meta.dirname, "../..");
const { groups } = parse(readFileSync(alertsFile, "utf8")) as {
	groups: { rules: Rule[] }[];
};
const rules = groups.flatMap(({ rules }) => rules);
const startMs = Date.UTC(2026, 2, 10);
const startSeconds = startMs / 1000;
const day = 86_400;

function series(
	name: string,
	labels: Record<string, string>,
	start: number,
	step = 0,
): AlertSeries {
	return { labels: { __name__: `tidemill_${name}`, ...labels }, start, step };
}

const shard = { shard: "0" };
const pipeline = { account: "shop", pipeline: "orders" };
const leads = {
	labels: {
		__name__: "leader_election_master_status",
		name: "tidemill-operator",
		pod: "a",
	},
	start: 1,
	step: 0,
};
/** An installation in which all is well, with the figures just below each limit. */
const healthy: AlertSeries[] = [
	leads,
	{ ...leads, labels: { ...leads.labels, pod: "b" }, start: 0 },
	series("archive_alarm", shard, 0),
	series("archive_stream_up", shard, 1),
	series("archive_stream_up", { shard: "1" }, 1),
	series("archive_lag_seconds", shard, 299),
	series("archive_lost_frames", shard, 0),
	series("archive_backlog_bytes", shard, 590),
	series("archive_backlog_limit_bytes", shard, 1_000),
	series("receive_requests_total", { code: "OK" }, 0, 1_000),
	series("receive_requests_total", { code: "StorageUnavailable" }, 0, 9),
	series("receive_requests_total", { code: "Unauthorized" }, 0, 500),
	series("receive_routes_age_seconds", {}, 299),
	{
		labels: {
			__name__: "controller_runtime_reconcile_errors_total",
			controller: "run",
		},
		start: 0,
		step: 5,
	},
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
];

test("an installation in which all is well fires no alert", async () => {
	expect(await firingOn(healthy, startMs)).toEqual([]);
});

/** What each alert is about: a healthy installation with these series instead or in addition. */
const reasons: Record<string, AlertSeries[]> = {
	TidemillArchiveAlarm: [series("archive_alarm", shard, 1)],
	TidemillArchiveLags: [series("archive_lag_seconds", shard, 301)],
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
		{
			labels: {
				__name__: "controller_runtime_reconcile_errors_total",
				controller: "run",
			},
			start: 0,
			step: 7,
		},
	],
	TidemillLedgerMismatch: [
		series("pipeline_failed", { ...pipeline, code: "ObjectMismatch" }, 1),
	],
	TidemillRunFailed: [
		series("pipeline_failed", { ...pipeline, code: "DestinationBusy" }, 1),
	],
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
		const found = await firingOn([...others, ...instead], startMs);
		expect(found.map(({ alert }) => alert)).toEqual([alert]);
		expect(found[0]!.annotations.summary).not.toMatch(/[{}]|<no value>|<error/);
	},
);

test("TidemillArchiveLagUnknown names the shard that doesn't answer", async () => {
	const silent = series("archive_stream_up", { shard: "2" }, 0);
	const [found] = await firingOn([...healthy, silent], startMs);
	expect(found?.annotations.summary).toBe(
		"Nobody knows how far archive is with shard 2.",
	);
});

test("TidemillArchiveLagUnknown fires when nobody tells the lag", async () => {
	const silent = healthy.filter(
		({ labels }) => !labels.__name__?.startsWith("tidemill_archive_"),
	);
	const found = await firingOn(silent, startMs);
	expect(found.map(({ alert }) => alert)).toEqual([
		"TidemillArchiveLagUnknown",
	]);
});

test("every alert has its test", () => {
	expect(Object.keys(reasons).toSorted()).toEqual(
		rules.map(({ alert }) => alert).toSorted(),
	);
});

test("each metric of an alert exists", () => {
	const page = metricsPage();
	const names = rules.flatMap(
		({ expr }) =>
			expr.match(
				/\b(?:tidemill|controller_runtime|leader_election|workqueue)_\w+/g,
			) ?? [],
	);
	expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

test.each(rules)(
	"$alert has a runbook with its severity, and the page of alerts lists it",
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
			"Mend it",
		])
			expect(text).toContain(`## ${part}\n`);
		const overview = readFileSync(join(root, "docs/observability.md"), "utf8");
		expect(overview).toContain(`(runbooks/${alert}.md)`);
	},
);
