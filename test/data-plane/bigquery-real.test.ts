import { randomBytes, randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { GoogleAuth } from "google-auth-library";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { BigQueryInput } from "../../contracts/job.ts";
import { newServiceAccount } from "../support/doubles/bigquery/service-account.ts";
import { checkDestination } from "../support/fixtures/data-plane/check-fixture.ts";
import {
	columns,
	eventsOf,
	loadFixture,
} from "../support/fixtures/data-plane/load-fixture.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";

/**
 * What only BigQuery itself can show, in a dataset that the test creates and deletes. It needs Google's application
 * default credentials with roles/bigquery.user in the project, and costs nothing: it loads, copies and lists.
 * TIDEMILL_BIGQUERY_EMULATOR is the address of an emulator to test in its place (docs/bigquery.md).
 */
const emulator = process.env.TIDEMILL_BIGQUERY_EMULATOR;
const projectId = emulator ? "emulated" : process.env.TIDEMILL_BIGQUERY_PROJECT;

describe.skipIf(!projectId)("the real BigQuery", () => {
	const dataset = `tidemill_test_${randomBytes(6).toString("hex")}`;
	const destination: BigQueryInput = {
		type: "BigQuery",
		projectId: projectId ?? "",
		dataset,
		location: process.env.TIDEMILL_BIGQUERY_LOCATION ?? "EU",
		createDataset: true,
		...(emulator && { apiEndpoint: emulator }),
	};
	const base = `${emulator ?? "https://bigquery.googleapis.com"}/bigquery/v2/projects/${projectId}/datasets/${dataset}`;
	const scopes = ["https://www.googleapis.com/auth/bigquery"];
	const auth = new GoogleAuth({ scopes });

	beforeAll(async () => {
		if (emulator) {
			const key = join(await temporaryDirectory("emulator"), "key.json");
			await writeFile(key, newServiceAccount("emulated").keyJson);
			process.env.GOOGLE_APPLICATION_CREDENTIALS = key;
		}
		const { exitCode, log } = await checkDestination(destination, {});
		expect(exitCode, log).toBe(0);
	});

	afterAll(() => ask("DELETE", `${base}?deleteContents=true`));

	/** An emulator accepts any token; Google issues none for a key that it doesn't know. */
	async function ask<T>(method: "GET" | "DELETE", url: string): Promise<T> {
		if (!emulator) return (await auth.request<T>({ method, url })).data;
		const response = await fetch(url, { method });
		const text = await response.text();
		if (!response.ok) throw new Error(`${method} ${url}: ${text}`);
		return (text ? JSON.parse(text) : undefined) as T;
	}

	/** The table's rows by tabledata.list, or those of a partition with `$YYYYMMDD`. */
	async function rowsOf(table: string): Promise<string[]> {
		const data = await ask<{ rows?: { f: { v: string }[] }[] }>(
			"GET",
			`${base}/tables/${encodeURIComponent(table)}/data`,
		);
		return (data.rows ?? []).map(({ f }) => f[0]!.v).sort();
	}

	const ids = (date: string, count: number, tag: string) =>
		eventsOf(date, count, tag).map(({ event_id }) => event_id);

	// bqemulator 1.4.0 does not support partition decorators.
	test.skipIf(emulator)(
		"days are replaced, emptied, left alone, and given new columns",
		async () => {
			const { manifest, load } = await loadFixture();
			const day = (date: string, count: number, tag: string) => ({
				[date]: [eventsOf(date, count, tag)],
			});
			const first = await load(
				await manifest({
					...day("2026-03-01", 2, "old"),
					...day("2026-03-02", 2, "old"),
					...day("2026-03-03", 2, "old"),
				}),
				{ input: { destination } },
			);
			expect(first.exitCode, first.log).toBe(0);
			const header = { name: "header_x_a", from: { header: "x-a" } };
			const second = await load(
				await manifest({ ...day("2026-03-02", 3, "new"), "2026-03-03": [] }),
				{
					input: {
						destination,
						table: {
							name: "orders",
							description: "",
							columns: [...columns, header],
						},
					},
				},
			);
			expect(second.exitCode, second.log).toBe(0);
			expect(await rowsOf("orders")).toEqual([
				...ids("2026-03-01", 2, "old"),
				...ids("2026-03-02", 3, "new"),
			]);
		},
		300_000,
	);

	test("a full reload replaces the table, and a repeated Run finds its jobs", async () => {
		const { manifest, load } = await loadFixture();
		const input = {
			destination,
			strategy: "FullReload",
			table: {
				name: "whole",
				description: "",
				columns: columns.slice(0, 3),
			},
		} as const;
		const events = (count: number) =>
			manifest({ "2026-03-01": [eventsOf("2026-03-01", count, "e")] });
		await load(await events(2), { input });
		const last = { ...(await events(3)), run: randomUUID() };
		for (let attempt = 1; attempt <= 2; attempt++) {
			const { exitCode, log } = await load(last, { input });
			expect(exitCode, log).toBe(0);
			expect(await rowsOf("whole")).toEqual(ids("2026-03-01", 3, "e"));
		}
		// Of the staging table.
		const { expirationTime } = await ask<{ expirationTime?: string }>(
			"GET",
			`${base}/tables/whole`,
		);
		expect(expirationTime).toBeUndefined();
	}, 300_000);

	test("a dataset in another location is reported as such", async () => {
		const { manifest, load } = await loadFixture();
		const { result } = await load(await manifest({}), {
			input: { destination: { ...destination, location: "us-east1" } },
		});
		expect(result).toMatchObject({ error: { code: "LocationMismatch" } });
	}, 60_000);
});
