import { mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { expect, test } from "vitest";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import { objectId } from "../../packages/service/log.ts";
import { parquetObject } from "../support/examples/parquet-object.ts";
import {
	eventsOf,
	type LoadFixture,
	loadFixture,
} from "../support/fixtures/data-plane/load-fixture.ts";

const all = "select * from orders order by all";

/** A table with three old days, and a manifest that would replace all of them. */
async function replacement(): Promise<
	LoadFixture & { next: Manifest; before: unknown }
> {
	const fixture = await loadFixture();
	const days = ["2026-03-01", "2026-03-02", "2026-03-03"];
	const with_ = (tag: string, count: number) =>
		fixture.manifest(
			Object.fromEntries(
				days.map((date) => [date, [eventsOf(date, count, tag)]]),
			),
		);
	const { exitCode, log } = await fixture.load(await with_("old", 3));
	expect(exitCode, log).toBe(0);
	return {
		...fixture,
		next: await with_("new", 5),
		before: await fixture.rows(all),
	};
}

function firstObject(manifest: Manifest) {
	const [object] = manifest.dates[2]!.objects;
	return object!;
}

test("an object with fewer rows than the ledger says leaves the table as it was", async () => {
	const { next, before, load, rows, store } = await replacement();
	const object = firstObject(next);
	const bytes = await parquetObject(
		"2026-03-03",
		eventsOf("2026-03-03", 4, "new"),
	);
	object.url = store.put("short", bytes);
	object.bytes = bytes.length;
	const { exitCode, result } = await load(next);
	expect(exitCode).toBe(65);
	expect(result).toMatchObject({
		outcome: "Failed",
		error: {
			code: "ObjectMismatch",
			message: expect.stringContaining(
				`Object ${objectId(object.key)} of 2026-03-03 holds 4 rows, but the manifest says 5.`,
			),
			retryable: false,
		},
	});
	expect(await rows(all)).toEqual(before);
});

test.each([
	[
		"an event twice",
		[...eventsOf("2026-03-03", 4, "new"), ...eventsOf("2026-03-03", 1, "new")],
		"The objects of 2026-03-03 hold 4 different event ids in 5 rows.",
		"2026-03-03",
	],
	[
		"another day's events",
		eventsOf("2026-03-03", 5, "new"),
		"The objects of 2026-03-03 hold 5 rows of other dates.",
		"2026-03-09",
	],
])(
	"objects with %s leave the table as it was",
	async (_, events, words, date) => {
		const { next, before, load, rows, store } = await replacement();
		const bytes = await parquetObject(date, events);
		Object.assign(firstObject(next), {
			url: store.put("other", bytes),
			bytes: bytes.length,
		});
		const { exitCode, result } = await load(next);
		expect(exitCode).toBe(65);
		expect(result).toMatchObject({
			error: { message: expect.stringContaining(words) },
		});
		expect(await rows(all)).toEqual(before);
	},
);

test("an object that is not Parquet fails the load, and the error names its id", async () => {
	const { next, before, load, rows, store } = await replacement();
	const object = firstObject(next);
	object.url = store.put("garbage", "x".repeat(object.bytes));
	const { result } = await load(next);
	expect(result).toMatchObject({
		error: {
			code: "ObjectMismatch",
			message: expect.stringContaining(
				`Object ${objectId(object.key)} of 2026-03-03`,
			),
		},
	});
	expect(await rows(all)).toEqual(before);
});

test("a failed request to the store is retried", async () => {
	const { next, load, rows, store } = await replacement();
	const [first, second] = next.dates.flatMap(({ objects }) => objects);
	store.disturb(
		first!.key,
		(response) => response.writeHead(503).end(),
		(response) => response.socket?.destroy(),
		(response) => response.end("too short"),
	);
	store.disturb(second!.key, (response) => {
		response.writeHead(200, { "content-length": second!.bytes });
		response.write("half");
		setImmediate(() => response.socket?.destroy());
	});
	const { exitCode, log } = await load(next);
	expect(exitCode, log).toBe(0);
	expect(await rows("select count(*)::int from orders")).toEqual([[15]]);
});

test("an object whose content does not match its checksum is fetched again", async () => {
	const { next, load, store } = await replacement();
	const { key, url } = firstObject(next);
	const bytes = await (await fetch(url)).bytes();
	store.requests.length = 0;
	const answer = (checksum: string) => (response: ServerResponse) =>
		response.setHeader("x-amz-checksum-crc32", checksum).end(bytes);
	const right = Buffer.alloc(4);
	right.writeUInt32BE(crc32(bytes));
	store.disturb(
		key,
		answer("AAAAAA=="),
		// A multipart upload has no checksum of the whole object.
		answer("AAAAAA==-3"),
	);
	expect((await load(next)).exitCode).toBe(0);
	expect(store.requests.filter((asked) => asked === key)).toHaveLength(2);
	store.disturb(key, answer(right.toString("base64")));
	expect((await load(next)).exitCode).toBe(0);
	expect(store.requests.filter((asked) => asked === key)).toHaveLength(3);
});

test("a link whose signing credentials have expired counts as expired", async () => {
	const { next, load, store } = await replacement();
	store.disturb(firstObject(next).key, (response) =>
		response
			.writeHead(400)
			.end("<Error><Code>ExpiredToken</Code><Message>No.</Message></Error>"),
	);
	const { exitCode, result } = await load(next);
	expect(exitCode).toBe(65);
	expect(result).toMatchObject({ error: { code: "ManifestExpired" } });
});

test("a missing object is named at once, without waiting for the others", async () => {
	const { next, load, store } = await replacement();
	const object = firstObject(next);
	object.url = store.put("x", "").replace("/x?", "/gone?");
	const { exitCode, result } = await load(next);
	expect(exitCode).toBe(65);
	expect(result).toMatchObject({
		error: {
			code: "ObjectMissing",
			message: expect.stringContaining(`object ${objectId(object.key)}`),
		},
	});
});

test("scratch is empty after success and after failure", async () => {
	const { next, load, scratch, store } = await replacement();
	expect((await load(next)).exitCode).toBe(0);
	firstObject(next).url = store.put("garbage", "");
	firstObject(next).bytes = 0;
	expect((await load(next)).exitCode).toBe(65);
	const left = await readdir(scratch);
	expect(left.filter((name) => name.startsWith("load-"))).toEqual([]);
});

test.each([
	[
		"no DuckDB file",
		"DestinationUnreadable",
		(file: string) => writeFile(file, "x".repeat(9000)),
	],
	["a directory", "DestinationUnreadable", (file: string) => mkdir(file)],
	[
		"a link out of the volume",
		"PathOutsideVolume",
		(file: string) => symlink("/tmp/elsewhere.duckdb", file),
	],
])("a destination that is %s is said so: %s", async (_, code, spoil) => {
	const { load, manifest, file } = await loadFixture();
	await spoil(file);
	const { exitCode, result } = await load(await manifest({}));
	expect(result).toMatchObject({ error: { code, retryable: false } });
	expect(exitCode).toBe(65);
});

test("a path outside the volume is refused", async () => {
	const { load, manifest } = await loadFixture();
	const { result } = await load(await manifest({}), {
		input: { destination: { type: "DuckDB", path: "../shop.duckdb" } },
	});
	expect(result).toMatchObject({ error: { code: "PathOutsideVolume" } });
});

test("a missing directory in the volume is created", async () => {
	const { load, manifest, warehouse } = await loadFixture();
	const { exitCode, log } = await load(await manifest({}), {
		input: { destination: { type: "DuckDB", path: "a/b.duckdb" } },
	});
	expect(exitCode, log).toBe(0);
	expect(await readdir(join(warehouse, "a"))).toEqual(["b.duckdb"]);
});
