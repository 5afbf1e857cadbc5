import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Json } from "@duckdb/node-api";
import { onTestFinished } from "vitest";
import type { BigQueryInput } from "../contracts/job.ts";
import type { Manifest } from "../contracts/manifest.ts";
import {
	type BigQueryDouble,
	startBigQueryDouble,
} from "./bigquery-double/server.ts";
import {
	type LoadEnd,
	type LoadFixture,
	type LoadOptions,
	loadFixture,
} from "./load-fixture.ts";

/** As {@link LoadFixture}, with the double for BigQuery and its dataset `shop` as the destination. */
export interface BigQueryFixture
	extends Pick<LoadFixture, "store" | "manifest" | "scratch"> {
	double: BigQueryDouble;
	destination: BigQueryInput;
	/** What a Job has in its environment. */
	env: Record<string, string>;
	start(
		manifest: Manifest,
		options?: LoadOptions,
	): ReturnType<LoadFixture["start"]>;
	load(manifest: Manifest, options?: LoadOptions): Promise<LoadEnd>;
	/** Asks or changes the tables; the one that is loaded is `shop.orders`. */
	rows(sql: string): Promise<Json[][]>;
}

export async function bigQueryFixture(): Promise<BigQueryFixture> {
	const double = await startBigQueryDouble();
	onTestFinished(() => double.close());
	await double.warehouse.createDataset("shop", "EU");
	const { start, store, manifest, scratch } = await loadFixture();
	const keyFile = join(dirname(scratch), "key.json");
	await writeFile(keyFile, double.keyJson);
	const destination: BigQueryInput = {
		type: "BigQuery",
		projectId: double.projectId,
		dataset: "shop",
		location: "EU",
		createDataset: false,
		apiEndpoint: double.endpoint,
	};
	const env = { GOOGLE_APPLICATION_CREDENTIALS: keyFile };
	const fixture: BigQueryFixture = {
		double,
		destination,
		env,
		store,
		manifest,
		scratch,
		start: (manifest, { input, env: more } = {}) =>
			start(manifest, {
				input: { destination, ...input },
				env: { ...env, ...more },
			}),
		load: async (manifest, options) =>
			(await fixture.start(manifest, options)).finish(),
		rows: (sql) => double.sql(sql),
	};
	return fixture;
}
