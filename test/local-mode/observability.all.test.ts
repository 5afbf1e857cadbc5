// On a laptop nothing proves this: it needs a collector and promtool.
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, inject, test, vi } from "vitest";
import { type Run, runKind, type Source } from "../../crds/generated/types.ts";
import { resolveBinaries } from "../../local/binaries/resolve.ts";
import { locateHome, readState } from "../../local/machine/home.ts";
import type { LocalPorts } from "../../local/machine/ports.ts";
import { dashboardQueries } from "../support/alerts/dashboard.ts";
import {
	allUp,
	firingOn,
	scrape,
	seriesOf,
	writeRules,
} from "../support/alerts/firing.ts";
import type { OtlpSpan } from "../support/doubles/otlp-collector.ts";
import { sendJSON } from "../support/senders/http-client.ts";
import {
	applyQuickstart,
	type Quickstart,
} from "../support/senders/quickstart.ts";
import {
	type LocalMode,
	openLocalMode,
} from "../support/servers/local-mode.ts";

/* docs/observability.md: traces of real events through all processes. */

const soon = { timeout: 120_000, interval: 200 };
const collector = inject("collector");
let local: LocalMode;
let quickstart: Quickstart;

beforeAll(async () => {
	local = await openLocalMode("observed");
	quickstart = await applyQuickstart(local);
});

/** All processes that the chart has scraped. */
function scrapeAll() {
	const ports = readState<LocalPorts>(
		locateHome({ TIDEMILL_HOME: local.home }).ports,
	)!;
	return scrape(
		...[
			ports.receiveHealth,
			ports.archiveHealth,
			ports.operatorHealth,
			ports.apiHealth,
		].map((port) => `http://127.0.0.1:${port}`),
	);
}

async function spans(): Promise<OtlpSpan[]> {
	return (await (await fetch(`${collector}/spans`)).json()) as OtlpSpan[];
}

/** Waits for the span of this name that the condition finds. */
function span(
	name: string,
	isMeant: (span: OtlpSpan) => boolean,
): Promise<OtlpSpan> {
	return vi.waitFor(async () => {
		const found = (await spans()).find(
			(each) => each.name === name && isMeant(each),
		);
		expect(found, `a span "${name}"`).toBeDefined();
		return found!;
	}, soon);
}

test("the trace of one event goes on from its sender's, and shows every hop: request, frame, object and Run", async () => {
	const traceId = randomBytes(16).toString("hex");
	const senderSpan = randomBytes(8).toString("hex");
	const answer = await sendJSON(quickstart.webhookURL, '{"order":1}', {
		headers: { traceparent: `00-${traceId}-${senderSpan}-01` },
	});
	expect(answer.status).toBe(200);
	const runName = await quickstart.startRun();
	expect(await quickstart.endOf(runName)).toMatchObject({ phase: "Succeeded" });

	const isOurs = (each: OtlpSpan) => each.traceId === traceId;
	const receive = await span("receive", isOurs);
	expect(receive).toMatchObject({
		service: "tidemill-receive",
		parentSpanId: senderSpan,
		attributes: { "tidemill.account": "observed" },
	});
	const event = receive.attributes["tidemill.event.id"];
	const store = await span("store", isOurs);
	expect(store).toMatchObject({
		service: "tidemill-receive",
		parentSpanId: receive.spanId,
		attributes: { "tidemill.event.id": event },
	});
	expect(store.attributes["tidemill.frame.stream"]).toMatch(
		/^tidemill-frames-/,
	);
	const archive = await span("archive", isOurs);
	expect(archive).toMatchObject({
		service: "tidemill-archive",
		parentSpanId: store.spanId,
		attributes: { "tidemill.event.id": event },
	});
	const key = archive.attributes["tidemill.object.key"];
	expect(key).toContain("/account=observed/");
	const [link] = archive.links!;
	const object = await span("object", ({ spanId }) => spanId === link!.spanId);
	expect(object.attributes["tidemill.object.key"]).toBe(key);
	expect(object.links).toContainEqual(
		expect.objectContaining({ traceId, spanId: archive.spanId }),
	);
	const run = await span(
		"run",
		({ attributes }) => attributes["tidemill.run"] === runName,
	);
	expect(run).toMatchObject({
		service: "tidemill-operator",
		attributes: { "tidemill.run.phase": "Succeeded" },
	});
	const load = await span(
		"load",
		({ parentSpanId }) => parentSpanId === run.spanId,
	);
	expect(load).toMatchObject({
		service: "tidemill-load",
		traceId: run.traceId,
	});
	expect(load.links).toContainEqual(
		expect.objectContaining({ traceId: object.traceId, spanId: object.spanId }),
	);
});

test("every panel of the dashboard shows what the processes tell, and no alert fires", async () => {
	const { atMs, texts } = await vi.waitFor(async () => {
		const all = await scrapeAll();
		const alerts = await firingOn([...allUp, ...seriesOf(all)], all.atMs);
		// Other tests have accounts of their own here, with Runs that fail.
		const ours = alerts.filter(
			({ labels: { account } }) =>
				account === undefined || account === local.namespace,
		);
		expect(ours).toEqual([]);
		return all;
	}, soon);
	const rules = dashboardQueries.map(({ panel, expr }) => ({
		alert: panel,
		expr: `count(${expr}) > 0`,
	}));
	const file = await writeRules({ groups: [{ name: "panels", rules }] });
	const shown = await firingOn(seriesOf({ atMs, texts }), atMs, file);
	const names = new Set(shown.map(({ alert }) => alert));
	const empty = dashboardQueries
		.map(({ panel }) => panel)
		.filter((panel) => !names.has(panel));
	// Nothing of the kind need be there.
	const mayBeEmpty = [
		"Validated events A",
		"Failures of archive A",
		"Failed Pipelines A",
		"How late Pipelines are A",
		"Failed reconciliations A",
		"Tokens and certificates that expire first A",
		"Tokens and certificates that expire first B",
	];
	expect(empty.filter((panel) => !mayBeEmpty.includes(panel))).toEqual([]);
});

test("each metric that a process tells has a name by Prometheus's rules, and the page of metrics has ours", async () => {
	const { promtool } = await resolveBinaries(["promtool"]);
	const page = await readFile(
		join(import.meta.dirname, "../../docs/reference/metrics.md"),
		"utf8",
	);
	const { texts } = await scrapeAll();
	for (const text of texts) {
		const { status, stdout, stderr } = spawnSync(
			promtool,
			["check", "metrics"],
			{ input: text, encoding: "utf8" },
		);
		expect({ status, told: stdout + stderr }).toEqual({ status: 0, told: "" });
		const ours = [...text.matchAll(/^# TYPE (tidemill_\w+)/gm)];
		expect(
			ours
				.map(([, name]) => name)
				.filter((name) => !page.includes(`\`${name}\``)),
		).toEqual([]);
	}
});

test("each process logs JSON lines, which name the Run, the account and the Source they are about", async () => {
	const runName = await quickstart.startRun();
	await quickstart.endOf(runName);
	const run = await local.client.get<Run>(runKind, runName, local.namespace);
	const source = await local.resource<{ items: Source[] }>("get", "sources");
	const { sourceKey } = source.items[0]!.status!;
	const { logs } = locateHome({ TIDEMILL_HOME: local.home });
	const linesOf = async (role: string) =>
		(await readFile(join(logs, `${role}.log`), "utf8"))
			.split("\n")
			.filter(Boolean);
	for (const role of ["receive", "archive", "operator", "api"]) {
		const lines = (await linesOf(role)).map((line) => JSON.parse(line));
		expect(lines.length).toBeGreaterThan(0);
		for (const line of lines)
			expect(line).toMatchObject({
				role,
				level: expect.stringMatching(/^(info|warn|error|fatal)$/),
				time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
				msg: expect.any(String),
			});
	}
	const archive = (await linesOf("archive")).map((line) => JSON.parse(line));
	expect(archive).toContainEqual(
		expect.objectContaining({
			run: run!.metadata.uid,
			account: local.namespace,
			sourceKey,
		}),
	);
	const load = run!.status!.log!.split("\n").map((line) => {
		// The first line may have been cut.
		return line.startsWith("{") ? JSON.parse(line) : {};
	});
	expect(load).toContainEqual(
		expect.objectContaining({
			role: "load",
			run: runName,
			pipeline: run!.spec.pipelineRef.name,
			account: local.namespace,
		}),
	);
	// The URL is a credential.
	const urlKey = quickstart.webhookURL.split("/").at(-1)!;
	for (const role of ["receive", "archive", "operator", "api"])
		expect((await linesOf(role)).join()).not.toContain(urlKey);
});

test("a sender whose trace isn't sampled gets none", async () => {
	const traceId = randomBytes(16).toString("hex");
	const spanId = randomBytes(8).toString("hex");
	const headers = { traceparent: `00-${traceId}-${spanId}-00` };
	await sendJSON(quickstart.webhookURL, '{"order":2}', { headers });
	const later = await sendJSON(quickstart.webhookURL, '{"order":3}', {
		headers: {
			traceparent: `00-${traceId.replaceAll(/./g, "7")}-${spanId}-01`,
		},
	});
	await span(
		"receive",
		({ attributes }) => attributes["tidemill.event.id"] === later.json.event_id,
	);
	expect((await spans()).filter((each) => each.traceId === traceId)).toEqual(
		[],
	);
});
