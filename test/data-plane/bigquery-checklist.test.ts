import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { Fault } from "../support/doubles/bigquery/fault.ts";
import {
	type BigQueryDouble,
	startBigQueryDouble,
} from "../support/doubles/bigquery/server.ts";
import { behaviours } from "../support/examples/bigquery/behaviours.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";

/*
 * `make test-bigquery` is for a project of BigQuery, which no test of ours has. So that a person who has one doesn't find out
 * that the checklist itself is broken, it runs here with the double in BigQuery's place.
 */

/** What the checklist printed at its end, by line, without its indentation. */
async function checklist(
	double: BigQueryDouble,
	more: Record<string, string> = {},
) {
	const directory = await temporaryDirectory("checklist");
	const key = join(directory, "key.json");
	await writeFile(key, double.keyJson);
	const script = join(import.meta.dirname, "../bigquery/run.ts");
	const child = spawn(process.execPath, [script], {
		stdio: ["ignore", "pipe", "pipe"],
		env: {
			...process.env,
			GOOGLE_APPLICATION_CREDENTIALS: key,
			TIDEMILL_BIGQUERY_PROJECT: double.projectId,
			TIDEMILL_BIGQUERY_ENDPOINT: double.endpoint,
			...more,
		},
	});
	const exited = new Promise((resolve) => child.on("exit", resolve));
	const [said, errors] = await Promise.all([
		text(child.stdout),
		text(child.stderr),
	]);
	const start = said.indexOf(`\nProject ${double.projectId}, `);
	const lines = said
		.slice(start)
		.split("\n")
		.map((line) => line.trim());
	const words = (word: string) =>
		lines
			.filter((line) => line.startsWith(`${word} `))
			.map((line) => line.slice(word.length).trim());
	return {
		exitCode: await exited,
		said: said + errors,
		proved: words("proved"),
		failed: words("FAILED"),
		skipped: words("skipped"),
		summary: lines.filter((line) => /^\d+ proved/.test(line)),
	};
}

async function startDouble(): Promise<BigQueryDouble> {
	const double = await startBigQueryDouble();
	onTestFinished(() => double.close());
	return double;
}

test("the checklist for a real project runs to its end, proves each of its promises and leaves nothing behind", async () => {
	const double = await startDouble();
	double.buckets.create("staging");
	const { exitCode, said, proved, ...others } = await checklist(double, {
		TIDEMILL_BIGQUERY_BUCKET: "staging",
		TIDEMILL_BIGQUERY_KMS_KEY:
			"projects/p/locations/europe/keyRings/r/cryptoKeys/k",
	});
	expect(exitCode, said).toBe(0);
	expect(proved).toHaveLength(6 + behaviours.length);
	expect(proved).toEqual(
		expect.arrayContaining([
			"days are replaced, emptied, left alone, and given new columns",
			"a day is loaded through the bucket (needs TIDEMILL_BIGQUERY_BUCKET)",
			"a table is encrypted with a key of Cloud KMS (needs TIDEMILL_BIGQUERY_KMS_KEY)",
			...behaviours.map(({ name }) => name),
		]),
	);
	expect(others).toEqual({
		failed: [],
		skipped: [],
		summary: [`${proved.length} proved, 0 failed, 0 skipped`],
	});
	expect([...double.warehouse.datasets.keys()]).toEqual([]);
	expect(double.buckets.names("staging")).toEqual([]);
});

test("the checklist names what is missing and what BigQuery refuses, and fails", async () => {
	const double = await startDouble();
	double.onRequest = ({ method, path }) =>
		method === "PATCH" && path.endsWith("/options")
			? new Fault(403, "accessDenied", "bigquery.tables.update denied")
			: undefined;
	const { exitCode, said, failed, skipped, summary } = await checklist(double);
	expect(exitCode, said).toBe(1);
	expect(failed).toEqual(["a Run sets the options of a table that it finds"]);
	expect(said).toContain("bigquery.tables.update denied");
	expect(skipped).toEqual([
		"a day is loaded through the bucket (needs TIDEMILL_BIGQUERY_BUCKET)",
		"a table is encrypted with a key of Cloud KMS (needs TIDEMILL_BIGQUERY_KMS_KEY)",
	]);
	expect(summary).toEqual([
		`${4 - 1 + behaviours.length} proved, 1 failed, 2 skipped`,
	]);
});
