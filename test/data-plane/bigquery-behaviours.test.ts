// @google-cloud/bigquery: Google's own reading of the API, beside ours (docs/decisions/0023).
import { BigQuery } from "@google-cloud/bigquery";
import { JWT } from "google-auth-library";
import { afterAll, beforeAll, test } from "vitest";
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
 * it. test/data-plane/bigquery-real.test.ts asks the same of BigQuery itself.
 */
let double: BigQueryDouble;
let place: Place;

beforeAll(async () => {
	double = await startBigQueryDouble();
	const { client_email, private_key } = JSON.parse(double.keyJson);
	const authClient = new JWT({
		email: client_email,
		key: private_key,
		scopes: ["https://www.googleapis.com/auth/bigquery"],
	});
	// There is no token server.
	authClient.useJWTAccessWithScope = true;
	const bigQuery = new BigQuery({
		projectId: double.projectId,
		apiEndpoint: double.endpoint,
		authClient,
	});
	const directory = await temporaryDirectory("behaviours");
	place = { bigQuery, dataset: "shop", location: "EU", directory };
	await bigQuery.createDataset("shop", { location: "EU" });
});

afterAll(() => double?.close());

test.each(behaviours)("$name", ({ check }) => check(place));
