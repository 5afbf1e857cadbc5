import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startBigQueryDouble } from "../../support/doubles/bigquery/server.ts";
import { writeParquet } from "../../support/examples/bigquery/parquet-file.ts";
import { pythonEnvironment } from "../../support/servers/python.ts";
import { outputOf } from "../program.ts";

/*
 * Part of `make test-ecosystem`: Google's client for Python with the double of BigQuery. Its uploads are resumable ones, and its
 * reading of the API isn't ours. Google's client for Node is in test/data-plane/bigquery-checklist.all.test.ts.
 */
const packages = ["google-cloud-bigquery==3.47.0"];

const expected = `dataset EU
table date ['event_id'] {'team': 'shop'}
stale refused
loaded 1
job id taken
rows ['a']
jobs ['first']
partition deleted orders
dataset deleted`;

const double = await startBigQueryDouble();
const folder = await mkdtemp(join(tmpdir(), "tidemill-bigquery-"));
try {
	const file = join(folder, "day.parquet");
	await writeParquet(file, "SELECT 'a' AS event_id, DATE '2026-03-01' AS date");
	const bin = await pythonEnvironment(
		packages[0]!.replace("==", "-"),
		packages,
	);
	const said = await outputOf(join(bin, "python3"), [
		join(import.meta.dirname, "client.py"),
		double.endpoint,
		double.keyJson,
		"shop",
		file,
	]);
	const isRight = said.trim() === expected;
	console.log(
		isRight
			? "✓ bigquery: Google's client for Python works with the double"
			: `✗ bigquery: Google's client for Python printed\n${said}`,
	);
	process.exitCode = isRight ? 0 : 1;
} finally {
	await double.close();
	await rm(folder, { recursive: true, force: true });
}
