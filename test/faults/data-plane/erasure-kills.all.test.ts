// In make test: test/promises/each-event-is-one-row.laptop.test.ts
import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { jetstream } from "@nats-io/jetstream";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { CompactionStore } from "../../../ingest/lake/compaction/record.ts";
import { newEventId } from "../../../ingest/wire/frame-event.ts";
import type { Erasure } from "../../../packages/contracts/archive.ts";
import type { Manifest } from "../../../packages/contracts/manifest.ts";
import { refused } from "../../../packages/contracts/nats.ts";
import {
	addDays,
	dayMs,
	utcDate,
} from "../../../packages/contracts/utc-date.ts";
import { withDuckDB } from "../../support/duckdb.ts";
import {
	ArchiveFixture,
	eventually,
	newEvent,
} from "../../support/fixtures/data-plane/archive-fixture.ts";
import { leaveParts } from "../../support/fixtures/data-plane/left-parts.ts";
import { loadFixture } from "../../support/fixtures/data-plane/load-fixture.ts";
import { S3Proxy, type SeenRequest } from "../../support/proxies/s3-proxy.ts";
import {
	type Servers,
	startServers,
} from "../../support/servers/archive-servers.ts";
import { temporaryDirectory } from "../../support/servers/test-server.ts";
import { startTidemill } from "../../support/servers/tidemill-process.ts";

/* A person's events are erased wherever they are, however often archive is killed meanwhile. */

let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(() => servers?.stop());

const today = utcDate(Date.now());
let shard = 0;
const secret = "Ada Lovelace";
const bodyOf = (name: string, tag: string) =>
	JSON.stringify({ customer: { name }, tag });

/** Events of a person and of another one: of two dates, in quarantine, released from it, imported, early, and in the stream. */
async function scene() {
	const archive = await ArchiveFixture.open(servers, shard++);
	const { sourceKey, keys, store } = archive;
	const shop = { account: "shop", sourceKey };
	const ids: string[] = [];
	const event = (
		name: string,
		tag: string,
		daysAgo: number,
		more: object = {},
	) => {
		const receivedAtMs = Date.now() - daysAgo * dayMs;
		const id = newEventId(receivedAtMs);
		if (name === secret)
			ids.push(
				Buffer.from(id)
					.toString("hex")
					.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-"),
			);
		return newEvent(bodyOf(name, tag), { ...shop, id, receivedAtMs, ...more });
	};
	const both = (tag: string, daysAgo: number, more?: object) => [
		event(secret, tag, daysAgo, more),
		event("Bob", tag, daysAgo, more),
	];
	const quarantined = (type: string) => ({
		quarantined: true,
		violations: JSON.stringify({
			plan: "orders",
			version: "0".repeat(16),
			type,
			violations: [{ kind: "TypeMismatch" }],
		}),
	});
	await archive.publish([
		...both("old", 2),
		...both("kept", 2, quarantined("kept")),
		...both("freed", 2, quarantined("freed")),
	]);
	const proxy = await S3Proxy.start(servers.s3);
	onTestFinished(() => proxy.close());
	const start = () => {
		const process = startTidemill(["archive"], {
			...archive.env(),
			S3_ENDPOINT: proxy.endpoint,
		});
		onTestFinished(() => void process.child.kill("SIGKILL"));
		return process;
	};
	const first = start();
	const manifestOf = async (question: object = {}) => {
		const asked = { run: randomUUID(), ...shop, ...question };
		const answer = await archive.ask(asked);
		if (!answer.ok) throw new Error(JSON.stringify(answer.error));
		return (await (await fetch(answer.url)).json()) as Manifest;
	};
	await eventually(() => manifestOf());
	await archive.askRelease({
		operation: randomUUID(),
		filter: { types: ["freed"] },
	});
	await leaveParts(archive, shop, randomUUID(), [event(secret, "part", 1)]);
	await store.putNew(
		keys.upload("shop", "ab".repeat(32)),
		secret,
		"text/plain",
	);
	await jetstream(archive.connection).publish(
		refused.subject("shop", sourceKey),
		JSON.stringify({ bodyHead: secret }),
	);
	/** Keys of objects that still have the person's name. */
	const leaks = async () => {
		const found: string[] = [];
		const file = join(await temporaryDirectory("erasure"), "object.parquet");
		const holds = `contains(concat_ws('|', body, headers, violations), '${secret}')`;
		for await (const { key } of store.list(`${archive.prefix}/`)) {
			// What is to be erased is among what is asked.
			if (key.includes("/erasures/")) continue;
			const response = await fetch(await store.presign(key, 60));
			const bytes = Buffer.from(await response.arrayBuffer());
			await writeFile(file, bytes);
			const isHeld = key.endsWith(".parquet")
				? await withDuckDB(async (duckdb) => {
						const sql = `SELECT count(*)::INT FROM '${file}' WHERE ${holds}`;
						const result = await duckdb.runAndReadAll(sql);
						return result.getRowsJson()[0]![0] !== 0;
					})
				: bytes.includes(secret);
			if (isHeld) found.push(key);
		}
		return found;
	};
	return { archive, proxy, first, start, event, both, manifestOf, leaks, ids };
}

const steps = {
	"says that it is asked": (path: string) => path.includes("/asked/"),
	"replaces an object": (path: string) =>
		/\/(events|quarantine|releases|early)\/.*parquet/.test(path),
	"keeps compaction out": (path: string) => path.includes("/compactions/"),
	"says what of a date is erased": (path: string) => path.includes("/dates/"),
	"says that it is done": (path: string) => path.includes("/done/"),
};

test.each<[string, "before" | "after", (ids: string[]) => Erasure]>([
	["by their IDs", "before", (eventIDs) => ({ mode: "RemoveRow", eventIDs })],
	[
		"by a value of their bodies",
		"after",
		() => ({
			mode: "RemoveRow",
			match: { bodyPointer: "/customer/name", equals: secret },
		}),
	],
])(
	"events that are erased %s are nowhere any more, with an archive that gets SIGKILL %s each step",
	async (_, when, erasureOf) => {
		const { archive, proxy, first, start, both, manifestOf, leaks, ids } =
			await scene();
		const before = await manifestOf();
		// Still in the stream, and what a Run got of it early.
		await archive.publish(both("new", 0));
		const operation = randomUUID();
		const erasure = erasureOf(ids);
		let process = first;
		for (const [step, isStep] of Object.entries(steps)) {
			let killed = false;
			const is = ({ method, path }: SeenRequest) =>
				!killed && method === "PUT" && isStep(path);
			const kill = () => {
				killed = true;
				process.child.kill("SIGKILL");
			};
			proxy.disturb = (request) => {
				if (when === "after" || !is(request)) return undefined;
				kill();
				return { status: 503, code: "NobodyReadsThis" };
			};
			proxy.afterwards = (request) => {
				if (when === "after" && is(request)) kill();
			};
			// Until an archive is up and has come to the step.
			await eventually(async () => {
				const asked = archive.askErasure(operation, erasure);
				await Promise.race([process.ended, asked]).catch(() => undefined);
				expect(killed, `${when} it ${step}`).toBe(true);
			});
			await process.ended;
			process = start();
		}
		const answer = await eventually(() =>
			archive.askErasure(operation, erasure),
		);
		expect(answer).toMatchObject({
			ok: true,
			places: { Events: 2, Quarantine: 2, Releases: 1 },
		});
		expect(await leaks()).toEqual([]);
		const after = await manifestOf();
		expect(after.dates.map(({ rows, erased }) => [rows, erased?.rows])).toEqual(
			[
				[4, 2],
				[0, undefined],
				[2, 1],
			],
		);
		const old = await manifestOf({ run: before.run }).catch(String);
		expect(old).toContain("ManifestOutdated");
		// The date isn't compacted any more: a compactor may have read it before.
		const folder = { account: "shop", sourceKey: archive.sourceKey };
		const record = await new CompactionStore(archive.store).of({
			...folder,
			date: addDays(today, -2),
		});
		expect(record).toMatchObject({ outputs: [] });
		const { load, rows } = await loadFixture();
		const end = await load(after);
		expect(end.exitCode, end.log).toBe(0);
		expect(await rows("SELECT body->>'tag' FROM orders ORDER BY 1")).toEqual([
			["freed"],
			["new"],
			["old"],
		]);
		expect(end.result).toMatchObject({ rows: 3 });
	},
);
