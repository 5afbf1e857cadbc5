import { expect, test } from "vitest";
import { GoogleRefusal } from "./google-refusal.ts";

/** Every reason in cloud.google.com/bigquery/docs/error-messages. */
test.each([
	[403, "accessDenied", "PermissionDenied", false],
	[400, "attributeError", "BigQueryRefused", false],
	[401, "authError", "CredentialsRefused", false],
	[503, "backendError", "BigQueryUnavailable", true],
	[400, "badRequest", "BigQueryRefused", false],
	[403, "billingNotEnabled", "BillingNotEnabled", false],
	[400, "billingTierLimitExceeded", "BigQueryRefused", false],
	[403, "blocked", "ProjectBlocked", false],
	[409, "duplicate", "BigQueryRefused", false],
	[500, "internalError", "BigQueryUnavailable", true],
	[400, "invalid", "BigQueryRefused", false],
	[400, "invalidQuery", "BigQueryRefused", false],
	[400, "invalidUser", "CredentialsRefused", false],
	[400, "jobBackendError", "BigQueryUnavailable", true],
	[400, "jobInternalError", "BigQueryUnavailable", true],
	[400, "jobRateLimitExceeded", "RateLimited", true],
	[404, "notFound", "BigQueryRefused", false],
	[501, "notImplemented", "BigQueryRefused", false],
	[407, "proxyAuthenticationRequired", "BigQueryRefused", false],
	[403, "quotaExceeded", "QuotaExceeded", false],
	[403, "rateLimitExceeded", "RateLimited", true],
	[400, "resourceInUse", "BigQueryUnavailable", true],
	[400, "resourcesExceeded", "BigQueryRefused", false],
	[403, "responseTooLarge", "BigQueryRefused", false],
	[0, "stopped", "JobCancelled", false],
	[400, "tableUnavailable", "BigQueryUnavailable", true],
	[400, "timeout", "BigQueryUnavailable", true],
] as const)(
	"HTTP status %i, reason %s is %s; transient: %s",
	(status, reason, code, again) => {
		const body = { error: { message: "No.", errors: [{ reason }] } };
		const refusal = GoogleRefusal.ofAnswer(status, JSON.stringify(body));
		expect(refusal.code).toBe(code);
		expect(refusal.isTransient).toBe(again);
		// A query's message may quote what is erased, and a proxy is a stranger.
		const isTold = !/^(invalidQuery|proxy)/.test(reason);
		const words = isTold ? "No" : `HTTP status ${status}`;
		expect(refusal.toFailure("load table t").message).toMatch(
			`BigQuery refused to load table t (${reason}): ${words}. `,
		);
	},
);

test.each([
	["Not found: Dataset p:d was not found in location EU", "LocationMismatch"],
	["Cannot read and write in different locations", "LocationMismatch"],
	["Not found: Dataset p:d", "DatasetMissing"],
])("%s is %s", (message, code) => {
	expect(new GoogleRefusal(404, { reason: "notFound", message }).code).toBe(
		code,
	);
});

test.each([
	[502, "BigQueryUnavailable"],
	[429, "RateLimited"],
	[403, "PermissionDenied"],
])("a proxy's page with status %i is %s", (status, code) => {
	expect(GoogleRefusal.ofAnswer(status, "<html>").code).toBe(code);
});

/** cloud.google.com/storage/docs/json_api/v1/status-codes */
test.each([
	[401, "required", "CredentialsRefused"],
	[403, "forbidden", "StagingBucketDenied"],
	[403, "rateLimitExceeded", "RateLimited"],
	[404, "notFound", "StagingBucketMissing"],
	[429, "rateLimitExceeded", "RateLimited"],
	[503, "backendError", "BigQueryUnavailable"],
])("Cloud Storage's %i %s is %s", (status, reason, code) => {
	const refusal = new GoogleRefusal(status, { reason }, "Cloud Storage");
	expect(refusal.code).toBe(code);
	expect(refusal.toFailure("list objects").message).toMatch(
		/^Cloud Storage refused to list objects/,
	);
});

test.each([
	["resourcesExceeded", "Resources exceeded during query execution", true],
	[
		"invalid",
		"Error while reading data, error message: Row size is larger than: 104857600",
		true,
	],
	["invalid", "Cell too large in column 3", true],
	["invalid", "Provided Schema does not match", false],
	["quotaExceeded", "Your table exceeded quota for imports", false],
])("a job that failed with %s: %s, is of size: %s", (reason, message, is) => {
	const refusal = new GoogleRefusal(0, { reason, message });
	expect(refusal.isOfSize).toBe(is);
	const { what } = refusal.with("The largest is e1.").toFailure("load table t");
	expect(what).toMatch(
		/^BigQuery refused to load table t \(\w+\)(: [^.]+)?\. The largest is e1\.$/,
	);
	expect(new GoogleRefusal(413, { reason, message }).isOfSize).toBe(false);
});

test.each([
	"Error while reading data, error message: JSON parsing error in row starting at position 0: Could not parse 'MARKED' as INT64 for field n",
	"Provided Schema does not match Table p:d.t. Field MARKED value has changed",
	"Field a has 'MARKED'. Provided Schema does not match Table p:d.t. Cannot add fields (field: b)",
])("of a job that failed for a row, not a word is told: %s", (message) => {
	const refusal = new GoogleRefusal(0, { reason: "invalid", message });
	const failure = refusal.toFailure("load table t");
	const { stack, cause } = failure as Error & { cause: Error };
	expect([stack, cause.stack, cause.message].join()).not.toContain("MARKED");
	expect(failure.what).toBe("BigQuery refused to load table t (invalid).");
});
