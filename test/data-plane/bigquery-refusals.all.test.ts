import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { rateLimitPatience } from "../../packages/warehouses/bigquery/load/rest/google-refusal.ts";
import { Fault } from "../support/doubles/bigquery/fault.ts";
import {
	bigQueryErrors,
	refusalOf,
} from "../support/examples/bigquery-errors.ts";
import { bigQueryFixture } from "../support/fixtures/data-plane/bigquery-fixture.ts";
import { checkDestination } from "../support/fixtures/data-plane/check-fixture.ts";
import { eventsOf } from "../support/fixtures/data-plane/load-fixture.ts";

const noPause = { baseMs: 0, maxMs: 0 };
const day = { "2026-03-01": [eventsOf("2026-03-01", 2, "a")] };

/** Rate limits that pass as quickly as the double's. */
function quickRateLimits() {
	const { backoff } = rateLimitPatience;
	const usual = { ...backoff };
	Object.assign(backoff, { baseMs: 20, maxMs: 200 });
	onTestFinished(() => void Object.assign(backoff, usual));
}

const largest = /The largest row has \d+ bytes as text, that of event .+\./;

test("whatever BigQuery's reason is, a load fails as the reference has it, tries again if that can help, and the table stays as it was", async () => {
	quickRateLimits();
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
		const expected = failure.toJobError();
		expect({ exitCode, result }).toMatchObject({
			exitCode: failure.exitCode,
			result: {
				outcome: "Failed",
				error: refusal.isOfSize
					? { ...expected, message: expect.stringMatching(largest) }
					: expected,
			},
		});
		const { attempts } = refusal.patience({ attempts: 3, backoff: noPause });
		const jobs = status > 0 ? 0 : refusal.isTransient ? attempts : 1;
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

test("a key of another cloud is of no use at Google's address", async () => {
	const { double, manifest, load, scratch, destination } =
		await bigQueryFixture();
	const key = { ...JSON.parse(double.keyJson), universe_domain: "s3nsapis.fr" };
	const file = join(scratch, "../other-cloud.json");
	await writeFile(file, JSON.stringify(key));
	const env = { GOOGLE_APPLICATION_CREDENTIALS: file };
	const days = await manifest(day);
	expect((await load(days, { env })).exitCode).toBe(0);
	const { apiEndpoint: _, ...atGoogle } = destination;
	const { result } = await load(days, {
		env,
		input: { destination: atGoogle },
	});
	expect(result).toMatchObject({
		error: {
			code: "CredentialsRefused",
			message: expect.stringContaining(
				"spec.bigQuery.apiEndpoint to https://bigquery.s3nsapis.fr",
			),
		},
	});
});

test("a load that is told to stop ends, whatever Google leaves unanswered", async () => {
	const { manifest, start, destination } = await bigQueryFixture();
	const days = await manifest(day);
	const silent = createServer();
	silent.listen(0, "127.0.0.1");
	await once(silent, "listening");
	onTestFinished(() => {
		silent.close();
		silent.closeAllConnections();
	});
	const host = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
	const atSilent = { ...destination, apiEndpoint: `http://${host}` };
	// The server for tokens of a Pod with workload identity.
	const workloadIdentity = {
		GOOGLE_APPLICATION_CREDENTIALS: "",
		METADATA_SERVER_DETECTION: "assume-present",
		GCE_METADATA_HOST: host,
	};
	for (const env of [{}, workloadIdentity]) {
		const asked = once(silent, "request");
		const input = { destination: atSilent };
		const load = await start(days, { env, input });
		await asked;
		load.process.child.kill("SIGTERM");
		const { result, log } = await load.finish();
		expect(result, log).toMatchObject({ error: { code: "Stopped" } });
		expect(log).toContain("load failed");
	}
});

test("neither a variable nor a redirect sends a Job to another address", async () => {
	const { double, manifest, load } = await bigQueryFixture();
	const elsewhere = await bigQueryFixture();
	const env = { BIGQUERY_EMULATOR_HOST: elsewhere.double.endpoint };
	const days = await manifest(day);
	expect((await load(days, { env })).exitCode).toBe(0);
	const location = `${elsewhere.double.endpoint}/bigquery/v2/projects/p`;
	double.onRequest = () => new Fault(307, "invalid", "Moved.", { location });
	expect((await load(days)).result).toMatchObject({
		error: { code: "BigQueryRefused" },
	});
	expect(elsewhere.double.requests).toEqual([]);
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

test("a load outlasts a limit on changes of its table, and waits as long as BigQuery asks", async () => {
	quickRateLimits();
	const { double, manifest, load, rows } = await bigQueryFixture();
	// cloud.google.com/bigquery/quotas#standard_tables: 5 updates of a table's metadata in 10 seconds.
	double.warehouse.tableUpdates = { count: 1, withinMs: 300 };
	expect((await load(await manifest(day))).exitCode).toBe(0);
	let refusedAt = 0;
	let waitedMs = 0;
	double.onRequest = ({ method }) => {
		if (method !== "PATCH" || waitedMs > 0) return undefined;
		if (refusedAt > 0) waitedMs = Date.now() - refusedAt;
		if (waitedMs > 0) return undefined;
		refusedAt = Date.now();
		return new Fault(429, "rateLimitExceeded", "Too many", {
			"retry-after": "1",
		});
	};
	expect((await load(await manifest(day))).exitCode).toBe(0);
	expect(waitedMs).toBeGreaterThanOrEqual(1_000);
	for (let n = 0; n < 5; n++)
		double.jobs.failNext("jobRateLimitExceeded", "Exceeded rate limits");
	const { exitCode, log } = await load(await manifest(day));
	expect(exitCode, log).toBe(0);
	expect(await rows("select count(*)::int from shop.orders")).toEqual([[2]]);
});

test("a token that is refused is replaced once, and requests are paid by the key's quota project", async () => {
	const { double, manifest, load, scratch } = await bigQueryFixture();
	const key = { ...JSON.parse(double.keyJson), quota_project_id: "payer-1" };
	const file = join(scratch, "../paid.json");
	await writeFile(file, JSON.stringify(key));
	const env = { GOOGLE_APPLICATION_CREDENTIALS: file };
	const refused = new Fault(401, "authError", "Invalid Credentials");
	// Every third token, so that jobs, changes and uploads get another one, too.
	double.onRequest = () =>
		double.requests.length % 3 === 1 ? refused : undefined;
	const { exitCode, log } = await load(await manifest(day), { env });
	expect(exitCode, log).toBe(0);
	expect(new Set(double.requests.map((seen) => seen.quotaProject))).toEqual(
		new Set(["payer-1"]),
	);
	double.onRequest = () => refused;
	const before = double.requests.length;
	expect((await load(await manifest(day), { env })).result).toMatchObject({
		error: { code: "CredentialsRefused" },
	});
	expect(double.requests.length - before).toBe(2);
});

test("the documented roles suffice for the check and for each kind of Run, and the check finds a right that is missing", async () => {
	const { double, destination, env, manifest, load } = await bigQueryFixture();
	const { permissions } = double;
	expect(permissions.projectRole).toBe("bigquery.jobUser");
	const check = () => checkDestination(destination, env);
	const checked = await check();
	expect(checked.exitCode, checked.log).toBe(0);
	const days = { ...day, "2026-03-02": [] };
	for (let run = 1; run <= 2; run++)
		expect((await load(await manifest(days))).exitCode).toBe(0);
	const tables = ["create", "update", "delete"].map((verb) => `tables.${verb}`);
	for (const permission of ["jobs.create", "datasets.get", ...tables]) {
		permissions.denied.add(permission);
		const { result } = await check();
		expect(result, permission).toMatchObject({
			error: {
				code: "PermissionDenied",
				message: expect.stringContaining(`bigquery.${permission} denied`),
			},
		});
		permissions.denied.clear();
	}
	// That of the check that wasn't allowed to delete its table. BigQuery deletes it within the hour.
	const left = double.warehouse.tableNames().filter((id) => /check/.test(id));
	expect(left).toHaveLength(1);
});

test("the check tries all that a Run does, and leaves nothing behind", async () => {
	const { double, destination, env } = await bigQueryFixture();
	const { exitCode, log } = await checkDestination(destination, env);
	expect(exitCode, log).toBe(0);
	const asked = new Set(
		double.requests.map(({ method, path }) =>
			`${method} ${path.split("/projects/test-project/")[1]}`
				.replace(/check_\w+/, "check")
				.replace(/%24\d{8}$|\$\d{8}$/, "$day"),
		),
	);
	for (const request of [
		"GET jobs",
		"POST datasets/shop/tables",
		"PATCH datasets/shop/tables/tidemill_check",
		"DELETE datasets/shop/tables/tidemill_check$day",
		"DELETE datasets/shop/tables/tidemill_check",
	])
		expect(asked).toContain(request);
	const loads = double.jobs
		.all()
		.map(({ configuration: { load } }) => load?.writeDisposition);
	expect(loads).toEqual(["WRITE_TRUNCATE", "WRITE_TRUNCATE_DATA"]);
	expect(double.warehouse.tableNames()).toEqual([]);
});
