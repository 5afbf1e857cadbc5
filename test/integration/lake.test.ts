import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, test } from "vitest";
import { utcDate } from "../../contracts/utc-date.ts";
import { ArchiveFixture, newEvent } from "../archive-fixture.ts";
import { type Servers, startServers } from "../archive-servers.ts";

let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(() => servers?.stop());

/** The page's queries. Without its set-up for S3: the gateway's files are read where they lie. */
async function documentedQueries(folder: string): Promise<string[]> {
	const page = await readFile(
		new URL("../../docs/lake.md", import.meta.url),
		"utf8",
	);
	return [...page.matchAll(/^```sql\n(.*?)^```/gms)]
		.map(([, sql]) => sql!.replaceAll("s3://BUCKET/PREFIX", folder))
		.filter((sql) => !sql.includes("INSTALL"));
}

test("the queries of docs/lake.md give the events that were archived", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { flush } = await archive.start();
	const { sourceKey } = archive;
	const order = '{"type":"order.created","data":{"amount":12.5}}';
	const of = { account: "default", sourceKey };
	await archive.publish([newEvent(order, of), newEvent('{"type":"x"}', of)]);
	await flush();
	await archive.publish([newEvent("[]", of), newEvent("1")]);
	await flush();

	const [perDay, fields] = await documentedQueries(
		join(servers.s3.bucketDirectory, archive.prefix),
	);
	const instance = await DuckDBInstance.create(":memory:");
	const connection = await instance.connect();
	const rows = async (sql: string) =>
		(await connection.runAndReadAll(sql)).getRowObjectsJson();
	const date = utcDate(Date.now());
	expect(await rows(perDay!)).toEqual([
		{ account: "default", source: sourceKey, date, events: "3" },
		{ account: "shop", source: "5a".repeat(16), date, events: "1" },
	]);
	expect(await rows(fields!)).toMatchObject([
		{ type: "order.created", amount: "12.5" },
	]);
	connection.closeSync();
	instance.closeSync();
});
