// In make test: ingest/lake/manifest/exports.test.ts
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { dayMs, utcDate } from "../../packages/contracts/utc-date.ts";
import { readArchivedRows } from "../support/examples/archived-rows.ts";
import {
	ArchiveFixture,
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

const nowMs = Date.now();
const today = utcDate(nowMs);
const yesterday = utcDate(nowMs - dayMs);

/** An archive with an Export of events of two dates; the second of yesterday was released from quarantine. */
async function exported() {
	const archive = await ArchiveFixture.open(servers);
	await archive.start();
	const { sourceKey } = archive;
	const before = { sourceKey, receivedAtMs: nowMs - dayMs };
	await archive.publish([
		newEvent("1", before),
		newEvent("2", { ...before, quarantined: true }),
		newEvent("3", { sourceKey, receivedAtMs: nowMs }),
		newEvent("other", { receivedAtMs: nowMs }),
	]);
	await archive.askRelease({ operation: randomUUID() });
	const operation = randomUUID();
	const answer = await archive.ask({
		run: operation,
		account: "shop",
		sourceKey,
		extent: "Chosen",
		start: yesterday,
		end: today,
		totals: true,
	});
	return { archive, operation, answer };
}

test("the files of an Export hold the events of its dates, with those that were released, and come in pages", async () => {
	const { archive, operation, answer } = await exported();
	expect(answer).toMatchObject({ totals: { rows: 3, objects: 3 } });
	const page = await archive.askExport({ operation, account: "shop" });
	if (!page.ok) throw new Error(page.error.message);
	expect(page.files.map(({ date, rows }) => [date, rows])).toEqual([
		[yesterday, 1],
		[yesterday, 1],
		[today, 1],
	]);
	expect(new Set(page.files.map(({ name }) => name)).size).toBe(3);
	const bodies: string[] = [];
	for (const { url, bytes } of page.files) {
		const content = Buffer.from(await (await fetch(url)).arrayBuffer());
		expect(content).toHaveLength(bytes);
		bodies.push(...(await readArchivedRows(content)).map(({ body }) => body));
	}
	expect(bodies.toSorted()).toEqual(["1", "2", "3"]);
	expect(page.next).toBeUndefined();
	const later = { operation, account: "shop", after: yesterday };
	expect(await archive.askExport(later)).toMatchObject({
		files: [{ date: today }],
	});
});

test("another account gets no link, nor does anybody once the source is deleted", async () => {
	const { archive, operation } = await exported();
	expect(
		await archive.askExport({ operation, account: "other" }),
	).toMatchObject({
		ok: false,
		error: { code: "ExportMissing" },
	});
	await archive.askDeletion();
	expect(await archive.askExport({ operation, account: "shop" })).toMatchObject(
		{
			ok: false,
			error: { code: "SourceDeleted" },
		},
	);
});
