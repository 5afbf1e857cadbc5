// @google-cloud/bigquery: Google's own reading of the API, beside ours (docs/decisions/0023).
import { afterAll, beforeAll, test } from "vitest";
import { clientOf } from "../support/doubles/bigquery/client.ts";
import {
	type BigQueryDouble,
	startBigQueryDouble,
} from "../support/doubles/bigquery/server.ts";
import {
	behaviours,
	type Place,
} from "../support/examples/bigquery/behaviours.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";

/*
 * A second opinion on the double: Google's own client understands its answers, and what load relies on in BigQuery holds for
 * it. test/data-plane/bigquery-real.all.test.ts asks the same of BigQuery itself.
 */
let double: BigQueryDouble;
let place: Place;

beforeAll(async () => {
	double = await startBigQueryDouble();
	const bigQuery = clientOf(double);
	const directory = await temporaryDirectory("behaviours");
	place = { bigQuery, dataset: "shop", location: "EU", directory };
	await bigQuery.createDataset("shop", { location: "EU" });
});

afterAll(() => double?.close());

test.each(behaviours)("$name", ({ check }) => check(place));
