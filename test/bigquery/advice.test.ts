import { expect, test } from "vitest";
import {
	BigQueryFailure,
	GoogleRefusal,
} from "../../packages/warehouses/bigquery/load/rest/google-refusal.ts";
import { JobFailure } from "../../packages/warehouses/load/failure.ts";
import { adviceOn } from "./advice.ts";
import { DatasetTaken, type Trial } from "./trial.ts";

const trial: Trial = {
	projectId: "my-project",
	dataset: "tidemill_test_1",
	location: "EU",
	endpoint: undefined,
	isGiven: false,
	stagingBucket: undefined,
	kmsKeyName: undefined,
};
const email = "loader@my-project.iam.gserviceaccount.com";
const refusal = (status: number, reason: string, message: string) =>
	new GoogleRefusal(status, { reason, message }).toFailure("create dataset d");

test.each([
	[
		"credentials of a kind that no Job takes",
		new BigQueryFailure("CredentialsRefused", "It is no key"),
		"gcloud auth application-default login",
	],
	[
		"no credentials",
		new BigQueryFailure("CredentialsMissing", "There is no key"),
		"export GOOGLE_APPLICATION_CREDENTIALS=key.json",
	],
	[
		"a right that the account lacks",
		refusal(403, "accessDenied", "bigquery.datasets.create denied"),
		`--member=serviceAccount:${email} --role=roles/bigquery.user`,
	],
	[
		"an API that is turned off",
		refusal(403, "accessNotConfigured", "BigQuery API is disabled"),
		"gcloud services enable bigquery.googleapis.com --project=my-project",
	],
	[
		"a project that doesn't exist",
		refusal(404, "notFound", "Not found: Project my-project"),
		"is a project's id, which `gcloud projects list` shows",
	],
	[
		"a project without billing",
		refusal(403, "billingNotEnabled", "Billing is not enabled"),
		"gcloud billing projects link my-project",
	],
	[
		"a dataset that is somebody's",
		new DatasetTaken("Dataset d exists already"),
		"It is left as it is.",
	],
	["what nobody expected", new Error("x"), "Please report it."],
])("the advice on %s says what to do", (_, error, says) => {
	const { reason, advice } = adviceOn(error, trial, email);
	expect(advice).toContain(says);
	const words = error instanceof JobFailure ? error.what : error.message;
	expect(reason).toContain(words);
});

test("in a dataset that was given, a Job's rights are enough", () => {
	const failure = refusal(403, "accessDenied", "bigquery.tables.get denied");
	const { advice } = adviceOn(failure, { ...trial, isGiven: true }, undefined);
	expect(advice).toContain("--role=roles/bigquery.jobUser");
	expect(advice).toContain(
		"--member=user:<your address> --role=roles/bigquery.dataEditor my-project:tidemill_test_1",
	);
});
