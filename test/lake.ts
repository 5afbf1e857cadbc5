import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance, type Json } from "@duckdb/node-api";
import { onTestFinished } from "vitest";
import type { ArchiveFixture } from "./archive-fixture.ts";

/** A reader of the bucket who does as docs/lake.md says. */
export interface Lake {
	/** The page's queries. */
	queries: string[];
	/** Finds anew which objects count. */
	look(): Promise<void>;
	rows(sql: string): Promise<Record<string, Json>[]>;
	/** Bodies of all events, sorted. */
	bodies(): Promise<string[]>;
}

/** Without the page's set-up for S3: the gateway's files are read where they lie. */
export async function openLake({
	servers,
	prefix,
}: ArchiveFixture): Promise<Lake> {
	const page = await readFile(
		new URL("../docs/lake.md", import.meta.url),
		"utf8",
	);
	const folder = join(servers.s3.bucketDirectory, prefix);
	const [choice, ...queries] = [...page.matchAll(/^```sql\n(.*?)^```/gms)]
		.map(([, sql]) => sql!.replaceAll("s3://BUCKET/PREFIX", folder))
		.filter((sql) => !sql.includes("INSTALL"));
	const instance = await DuckDBInstance.create(":memory:");
	const connection = await instance.connect();
	onTestFinished(() => {
		connection.closeSync();
		instance.closeSync();
	});
	const lake: Lake = {
		queries,
		look: async () => void (await connection.run(choice!)),
		rows: async (sql) =>
			(await connection.runAndReadAll(sql)).getRowObjectsJson(),
		bodies: async () => {
			await lake.look();
			const found = await lake.rows(
				"SELECT body FROM read_parquet(getvariable('objects'), hive_partitioning = true)",
			);
			return found.map(({ body }) => String(body)).sort();
		},
	};
	await lake.look();
	return lake;
}
