import { expect, test } from "vitest";
import { Fault } from "../support/doubles/bigquery/fault.ts";
import {
	bigQueryErrors,
	refusalOf,
} from "../support/examples/bigquery-errors.ts";
import { bigQueryFixture } from "../support/fixtures/data-plane/bigquery-fixture.ts";
import { eventsOf } from "../support/fixtures/data-plane/load-fixture.ts";

const day = { "2026-03-01": [eventsOf("2026-03-01", 2, "a")] };

test("whatever BigQuery's reason is, a load fails as the reference has it, tries again if that can help, and the table stays as it was", async () => {
	const { double, manifest, load, rows } = await bigQueryFixture();
	await load(await manifest(day));
	const before = await rows("from shop.orders");
	for (const error of bigQueryErrors) {
		const { status, reason, message } = error;
		const jobsBefore = double.jobs.all().length;
		const fault = new Fault(status, reason, message);
		double.jobs.failure = status === 0 ? fault : undefined;
		double.onRequest = ({ path }) =>
			status !== 0 && path.startsWith("/upload/") ? fault : undefined;
		const { exitCode, result } = await load(await manifest(day));
		const refusal = refusalOf(error);
		const failure = refusal.toFailure("load table orders");
		expect({ exitCode, result }).toMatchObject({
			exitCode: failure.exitCode,
			result: { outcome: "Failed", error: failure.toJobError() },
		});
		const jobs = status > 0 ? 0 : refusal.isTransient ? 3 : 1;
		expect(double.jobs.all().length - jobsBefore, reason).toBe(jobs);
		expect(await rows("from shop.orders"), reason).toEqual(before);
	}
});

test("a request that is refused before the upload fails the load, too", async () => {
	const { double, manifest, load } = await bigQueryFixture();
	double.onRequest = ({ path }) =>
		path.endsWith("/datasets/shop/tables")
			? new Fault(403, "accessDenied", "In BigQuery's own words.")
			: undefined;
	const { result } = await load(await manifest(day));
	expect(result).toMatchObject({
		error: {
			code: "PermissionDenied",
			message: expect.stringContaining(
				"(accessDenied): In BigQuery's own words.",
			),
		},
	});
});

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
		// A process, for its exit code.
		env: {},
	});
	expect(result).toMatchObject({
		error: { code: "BigQueryUnavailable", retryable: true },
	});
	expect(exitCode).toBe(75);
});
