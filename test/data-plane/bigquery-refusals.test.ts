import { expect, test } from "vitest";
import type { JobErrorCode } from "../../ingest/job/errors.ts";
import { Fault } from "../support/doubles/bigquery/fault.ts";
import { bigQueryFixture } from "../support/fixtures/data-plane/bigquery-fixture.ts";
import { eventsOf } from "../support/fixtures/data-plane/load-fixture.ts";

const day = { "2026-03-01": [eventsOf("2026-03-01", 2, "a")] };

/** The reasons in cloud.google.com/bigquery/docs/error-messages that a request of load can get, without transient ones. */
test.each<[status: number, reason: string, code: JobErrorCode, advice: string]>(
	[
		[403, "accessDenied", "PermissionDenied", "roles/bigquery.dataEditor"],
		[403, "billingNotEnabled", "BillingNotEnabled", "billing account"],
		[
			400,
			"billingTierLimitExceeded",
			"BigQueryRefused",
			"what BigQuery's message names",
		],
		[403, "blocked", "ProjectBlocked", "support"],
		[400, "invalid", "BigQueryRefused", "what BigQuery's message names"],
		[400, "invalidUser", "CredentialsRefused", "valid key"],
		[501, "notImplemented", "BigQueryRefused", "what BigQuery's message names"],
		[403, "quotaExceeded", "QuotaExceeded", "quota"],
		[
			400,
			"resourcesExceeded",
			"BigQueryRefused",
			"what BigQuery's message names",
		],
		[
			403,
			"responseTooLarge",
			"BigQueryRefused",
			"what BigQuery's message names",
		],
	],
)(
	"a request that is refused with %i %s fails the Run as %s",
	async (status, reason, code, advice) => {
		const { double, manifest, load } = await bigQueryFixture();
		double.onRequest = ({ path }) =>
			path.endsWith("/datasets/shop/tables")
				? new Fault(status, reason, "In BigQuery's own words.")
				: undefined;
		const { result } = await load(await manifest(day));
		expect(result).toMatchObject({ outcome: "Failed", error: { code } });
		const { message } = (result as { error: { message: string } }).error;
		expect(message).toContain(`(${reason}): In BigQuery's own words.`);
		expect(message).toContain(advice);
	},
);

test.each<[reason: string, code: JobErrorCode, jobs: number]>([
	["accessDenied", "PermissionDenied", 1],
	["invalid", "BigQueryRefused", 1],
	["notFound", "BigQueryRefused", 1],
	["quotaExceeded", "QuotaExceeded", 1],
	["resourcesExceeded", "BigQueryRefused", 1],
	["stopped", "JobCancelled", 1],
	["backendError", "BigQueryUnavailable", 3],
	["internalError", "BigQueryUnavailable", 3],
	["jobBackendError", "BigQueryUnavailable", 3],
	["jobInternalError", "BigQueryUnavailable", 3],
	["jobRateLimitExceeded", "RateLimited", 3],
	["rateLimitExceeded", "RateLimited", 3],
	["resourceInUse", "BigQueryUnavailable", 3],
	["tableUnavailable", "BigQueryUnavailable", 3],
	["timeout", "BigQueryUnavailable", 3],
])(
	"a job that ends in %s fails the Run as %s, after %i jobs",
	async (reason, code, jobs) => {
		const { double, manifest, load, rows } = await bigQueryFixture();
		double.jobs.failure = new Fault(0, reason, "In BigQuery's own words.");
		const { result } = await load(await manifest(day));
		expect(result).toMatchObject({
			error: {
				code,
				message: expect.stringContaining("In BigQuery's own words."),
			},
		});
		expect(double.jobs.all()).toHaveLength(jobs);
		expect(await rows("from shop.orders")).toEqual([]);
	},
);

test("a dataset in another location and a missing dataset are different errors", async () => {
	const { manifest, load, destination } = await bigQueryFixture();
	const days = await manifest(day);
	const { result } = await load(days, {
		input: { destination: { ...destination, location: "us-east1" } },
	});
	expect(result).toMatchObject({
		error: {
			code: "LocationMismatch",
			message: expect.stringContaining("is in EU, not in us-east1"),
		},
	});
});

test("an unknown key and a missing key are different errors", async () => {
	const { manifest, load, env } = await bigQueryFixture();
	const other = await bigQueryFixture();
	const days = await manifest(day);
	const refused = await load(days, { env: other.env });
	expect(refused.result).toMatchObject({
		error: { code: "CredentialsRefused" },
	});
	const missing = await load(days, {
		env: {
			...env,
			GOOGLE_APPLICATION_CREDENTIALS: "",
			// Without a home directory there is no cache either.
			HOME: "/dev/null",
			METADATA_SERVER_DETECTION: "none",
		},
	});
	expect(missing.result).toMatchObject({
		error: { code: "CredentialsMissing" },
	});
});

test("an unreachable API is a retryable error", async () => {
	const { manifest, load, destination } = await bigQueryFixture();
	const { result, exitCode } = await load(await manifest(day), {
		input: {
			destination: { ...destination, apiEndpoint: "http://127.0.0.1:9" },
		},
	});
	expect(result).toMatchObject({
		error: { code: "BigQueryUnavailable", retryable: true },
	});
	expect(exitCode).toBe(75);
});
