import { randomUUID } from "node:crypto";
import type { Registry } from "prom-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ledgerOf } from "../../ingest/archive/ledger/ledger-index.ts";
import {
	type Manifest,
	maxReportBytes,
} from "../../packages/contracts/manifest.ts";
import { maxFrameBytes } from "../../packages/contracts/nats.ts";
import { utcDate } from "../../packages/contracts/utc-date.ts";
import {
	ArchiveFixture,
	eventually,
	newEvent,
} from "../support/fixtures/data-plane/archive-fixture.ts";
import {
	type Servers,
	startServers,
} from "../support/servers/archive-servers.ts";

let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(() => servers?.stop());

test("objects hold the events by account, source and date, sorted, byte for byte", async () => {
	const archive = await ArchiveFixture.open(servers);
	const noon = Date.UTC(2026, 10, 20, 12);
	const bodies = [
		'{ "indented" :  1 }',
		'{"escaped":"\\u00fc\\n"}',
		'"raw ü ☃ 🦀"',
		"null",
		"[]",
		`"${"x".repeat(900_000)}"`,
	];
	const events = bodies.map((body, index) =>
		newEvent(body, { receivedAtMs: noon - index * 1000 }),
	);
	await archive.publish(events);
	await archive.publish([
		newEvent('{"a":"form"}', {
			kind: "form",
			headers: '{"x-a":"ß"}',
			violations: "[1]",
			receivedAtMs: Date.UTC(2026, 10, 21),
			account: "bank",
			sourceKey: "0b".repeat(16),
		}),
	]);
	// Both frames in one cut.
	const { flush } = await archive.start({ maxAgeMs: 600_000 });
	await flush();

	const rows = await archive.rows();
	const [form, ...others] = rows;
	const end = `${archive.stream}-${"1".padStart(20, "0")}.parquet`;
	expect(form).toEqual({
		key: `${archive.prefix}/events/account=bank/source=${"0b".repeat(16)}/date=2026-11-21/${end}`,
		event_id: expect.stringMatching(
			/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
		),
		timestamp: "2026-11-21T00:00:00.000Z",
		date: "2026-11-21",
		body: '{"a":"form"}',
		kind: "form",
		headers: '{"x-a":"ß"}',
		violations: "[1]",
	});
	expect(new Set(others.map(({ key }) => key))).toEqual(
		new Set([
			`${archive.prefix}/events/account=shop/source=${"5a".repeat(16)}/date=2026-11-20/${end}`,
		]),
	);
	expect(others.map(({ body }) => body)).toEqual(bodies.toReversed());
	expect(others[0]).toMatchObject({
		kind: "json",
		headers: null,
		violations: null,
	});
	expect(others.at(-1)!.timestamp).toBe("2026-11-20T12:00:00.000Z");
	expect(others.map(({ event_id }) => event_id.replaceAll("-", ""))).toEqual(
		events.map(({ id }) => Buffer.from(id).toString("hex")).toReversed(),
	);
});

test("events in quarantine get objects apart, which no manifest names, and are counted apart", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { sourceKey, prefix, stream } = archive;
	const violations = JSON.stringify({
		plan: "orders",
		version: "0".repeat(16),
		type: "order.created",
		violations: [{ kind: "TypeMismatch", path: "/id", message: "a number" }],
	});
	const validated = { sourceKey, violations };
	const kept = newEvent("1", { ...validated, quarantined: true });
	const date = utcDate(kept.receivedAtMs);
	const other = newEvent("3", { sourceKey, quarantined: true });
	await archive.publish([kept, newEvent("2", validated), other]);
	const { flush, shard, registry } = await archive.start({ maxAgeMs: 600_000 });
	await flush();
	const end = `${stream}-${"1".padStart(20, "0")}.parquet`;
	const apart = await archive.rows("quarantine");
	expect(apart.sort((a, b) => (a.body < b.body ? -1 : 1))).toMatchObject([
		{
			key: `${prefix}/quarantine/account=shop/source=${sourceKey}/date=${date}/${end}`,
			body: "1",
			violations,
		},
		{ body: "3", violations: null },
	]);
	expect(await archive.bodies()).toEqual(["2"]);
	expect(ledgerOf(shard.index.source("shop", sourceKey)!)).toMatchObject({
		archived: { [date]: 1 },
		quarantined: { [date]: 2 },
		deviations: {
			entries: [
				{
					type: "order.created",
					kind: "TypeMismatch",
					annotated: 1,
					quarantined: 1,
				},
			],
		},
	});
	expect(
		await registry.getSingleMetricAsString(
			"tidemill_archive_quarantined_events_total",
		),
	).toMatch(/} 2$/m);
	const run = randomUUID();
	const answer = await archive.ask({ run, account: "shop", sourceKey });
	const manifest = await fetch(answer.ok ? answer.url : "");
	const named = await manifest.json();
	expect(JSON.stringify(named)).not.toContain("quarantine");
	expect(named).toMatchObject({
		dates: [
			{ date, rows: 1, objects: [{ key: expect.stringMatching("/events/") }] },
		],
	});
	const asked = { run: randomUUID(), account: "shop", sourceKey };
	const both = await archive.ask({ ...asked, quarantine: true });
	expect(await (await fetch(both.ok ? both.url : "")).json()).toMatchObject({
		dates: [
			{
				rows: 1,
				quarantine: {
					rows: 2,
					objects: [{ key: expect.stringMatching("/quarantine/") }],
				},
			},
		],
	});
});

test("an Operation's manifest names what is in quarantine, too, and takes its report", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { sourceKey } = archive;
	const kept = newEvent("1", { sourceKey, quarantined: true });
	await archive.publish([kept, newEvent("2", { sourceKey })]);
	await archive.start({ maxAgeMs: 600_000 });
	const run = randomUUID();
	const question = { run, account: "shop", sourceKey, report: true };
	let report: Manifest["report"];
	// Also with new links.
	for (const renew of [false, true]) {
		const answer = await archive.ask({ ...question, renew });
		const response = await fetch(answer.ok ? answer.url : "");
		const manifest = (await response.json()) as Manifest;
		const [{ rows, quarantine } = { rows: 0 }] = manifest.dates;
		expect([rows, quarantine?.rows]).toEqual([1, 1]);
		const [object] = quarantine!.objects;
		expect(object).toMatchObject({
			key: expect.stringMatching("/quarantine/"),
		});
		expect((await fetch(object!.url)).status).toBe(200);
		report = manifest.report!;
	}
	const put = (body: string) =>
		fetch(report!.url, { method: "PUT", headers: report!.headers, body });
	expect((await put("{}".padEnd(maxReportBytes + 1))).ok).toBe(false);
	expect((await put('{"version":1}'.padEnd(maxReportBytes))).status).toBe(200);
	const asked = { run, account: "shop", sourceKey };
	const left = await archive.askResult(asked);
	expect(left.ok && left.report?.trim()).toBe('{"version":1}');
	const other = await archive.askResult({ ...asked, account: "bank" });
	expect(other).toMatchObject({ ok: false, error: { code: "ManifestTaken" } });
});

test("what is archived is purged from the stream, and only that", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archive.publish([newEvent("1")]);
	const { flush } = await archive.start({ maxAgeMs: 600_000 });
	await flush();
	const last = await archive.publish([newEvent("2")]);
	await eventually(async () =>
		expect(await archive.streamState()).toMatchObject({
			messages: 1,
			first_seq: last,
		}),
	);
	expect(await archive.bodies()).toEqual(["1"]);
});

test("events are archived by age without anybody asking", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archive.start({ maxAgeMs: 200 });
	await archive.publish([newEvent("1")]);
	await eventually(async () => expect(await archive.bodies()).toEqual(["1"]));
});

test("a large backlog is cut by size", async () => {
	const archive = await ArchiveFixture.open(servers);
	const body = `"${"x".repeat(1_000)}"`;
	for (let frame = 0; frame < 250; frame++)
		await archive.publish([newEvent(body), newEvent(body)]);
	const { flush, registry } = await archive.start({
		maxAgeMs: 600_000,
		maxBytes: 50_000,
	});
	await flush();
	expect(await archive.rows()).toHaveLength(500);
	expect(await cuts(registry)).toBeGreaterThanOrEqual(10);
});

test("frames of the largest size are archived, more of them than are read at once", async () => {
	const archive = await ArchiveFixture.open(servers);
	const body = `"${"x".repeat(maxFrameBytes - 10_000)}"`;
	for (let frame = 0; frame < 5; frame++)
		await archive.publish([newEvent(body)]);
	const { flush } = await archive.start();
	await flush();
	expect(await archive.bodies()).toEqual([body, body, body, body, body]);
});

async function cuts(registry: Registry): Promise<number> {
	const metric = registry.getSingleMetric("tidemill_archive_cuts_total")!;
	return (await metric.get()).values[0]!.value;
}

test("a frame stored again, under another message id or after a restart, yields no second row", async () => {
	const archive = await ArchiveFixture.open(servers);
	const frame = [newEvent("1")];
	await archive.publish(frame, { number: 1 });
	await archive.publish(frame, { number: 1, messageId: "again" });
	const first = await archive.start();
	await first.flush();
	await first.stop();
	// As after the server's duplicate window.
	await archive.publish(frame, { number: 1, messageId: "and again" });
	await archive.publish([newEvent("2")], { number: 2 });
	const second = await archive.start();
	await second.flush();
	expect(await archive.bodies()).toEqual(["1", "2"]);
});
