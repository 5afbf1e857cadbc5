// On a laptop nothing proves this: it is BigQuery's alone. The table of its reasons is google-refusal.test.ts, in `make check`.
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type {
	Manifest,
	ManifestErasure,
} from "../../packages/contracts/manifest.ts";
import type { BigQueryInput } from "../../packages/warehouses/bigquery/definition.ts";
import { rateLimitPatience } from "../../packages/warehouses/bigquery/load/rest/google-refusal.ts";
import { Fault } from "../support/doubles/bigquery/fault.ts";
import type { BigQueryDouble } from "../support/doubles/bigquery/server.ts";
import {
	bigQueryErrors,
	namedJob,
	refusalOf,
} from "../support/examples/bigquery-errors.ts";
import {
	type BigQueryFixture,
	bigQueryFixture,
} from "../support/fixtures/data-plane/bigquery-fixture.ts";
import { checkDestination } from "../support/fixtures/data-plane/check-fixture.ts";
import {
	columns,
	eventsOf,
	type LoadOptions,
} from "../support/fixtures/data-plane/load-fixture.ts";

/* What happens between a load and Google: jobs, uploads, the bucket, credentials, and each way in which Google says no. */

const dates = ["2026-03-01", "2026-03-02", "2026-03-03", "2026-03-04"];
const dayOf = (count: number, tag = "a") => ({
	[dates[0]!]: [eventsOf(dates[0]!, count, tag)],
});
const counted = "select count(*)::int from shop.orders";
const folder = "tidemill/test-project.shop.orders";

/** With a Destination whose load jobs read from the bucket `staging`. */
async function stagingFixture() {
	const fixture = await bigQueryFixture();
	fixture.double.buckets.create("staging");
	const destination: BigQueryInput = {
		...fixture.destination,
		stagingBucket: "staging",
		storageEndpoint: fixture.double.endpoint,
	};
	return {
		...fixture,
		destination,
		files: () => fixture.double.buckets.names("staging"),
	};
}

/** Rate limits that pass as quickly as the double's. */
function quickRateLimits() {
	const { backoff } = rateLimitPatience;
	const usual = { ...backoff };
	Object.assign(backoff, { baseMs: 20, maxMs: 200 });
	onTestFinished(() => void Object.assign(backoff, usual));
}

/** Two events of each tag in an object of their own, on each of four dates. */
async function fourDays() {
	const fixture = await bigQueryFixture();
	const days = (...tags: string[]) =>
		fixture.manifest(
			Object.fromEntries(
				dates.map((date) => [date, tags.map((tag) => eventsOf(date, 2, tag))]),
			),
		);
	return { ...fixture, days };
}

const perDay =
	"select date::text, string_agg(distinct body->>'tag', ',' order by body->>'tag'), count(*)::int from shop.orders group by all order by all";

test("the objects of one day at a time are on the scratch volume, and nothing stays there", async () => {
	const { days, loaded, rows, store, scratch } = await fourDays();
	const seen: string[][] = [];
	store.onRequest = (key) => {
		const asked = /date=([\d-]+)/.exec(key)?.[1];
		if (asked === undefined) return;
		const files = readdirSync(scratch, { recursive: true }).map(String);
		const there = dates.filter((date) =>
			files.some((file) => file.includes(`/${date}-`)),
		);
		seen.push([...new Set([...there, asked])]);
	};
	await loaded(await days("a", "b"));
	expect(seen.toSorted()).toEqual(dates.flatMap((date) => [[date], [date]]));
	expect(readdirSync(scratch)).toEqual([]);
	expect(await rows(perDay)).toEqual(dates.map((date) => [date, "a,b", 4]));
});

test("if links expire on the way, the load with new ones goes on after the days that are done", async () => {
	const { days, load, loaded, rows, store } = await fourDays();
	await loaded(await days("old"));
	const next = await days("new");
	// As S3 answers a link that has expired.
	store.disturb(next.dates[2]!.objects[0]!.key, (response) =>
		response
			.writeHead(403)
			.end(
				"<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>",
			),
	);
	const failed = await load(next);
	expect(failed.result).toMatchObject({
		error: { code: "ManifestExpired", retryable: false },
	});
	expect((await rows(perDay)).map(([, tag]) => tag)).toEqual([
		"new",
		"new",
		"old",
		"new",
	]);
	store.requests.length = 0;
	await loaded(next);
	const read = store.requests.filter((key) => key.includes("date="));
	expect(read).toEqual([next.dates[2]!.objects[0]!.key]);
	expect(await rows(perDay)).toEqual(dates.map((date) => [date, "new", 2]));
});

test("a Run that wakes after its successor has ended changes nothing", async () => {
	const { manifest, loaded, start, rows, double } = await bigQueryFixture();
	await loaded(await manifest(dayOf(1, "first")));
	const early = await manifest(dayOf(2, "early"));
	const late = await manifest(dayOf(3, "late"));
	late.snapshotTime = new Date(Date.now() + 60_000).toISOString();
	const sleeper = await start(early);
	// It is stopped as its upload begins.
	await new Promise<void>((resolve) => {
		double.onRequest = ({ path }) => {
			if (!path.startsWith("/upload")) return undefined;
			sleeper.process.child.kill("SIGSTOP");
			double.onRequest = () => undefined;
			resolve();
			return "drop";
		};
	});
	await loaded(late);
	sleeper.process.child.kill("SIGCONT");
	expect((await sleeper.finish()).result).toMatchObject({
		error: { code: "Superseded", retryable: false },
	});
	expect(await rows(counted)).toEqual([[3]]);
});

test("a job that an earlier Run left running is cancelled before anything is replaced", async () => {
	const { manifest, loaded, rows, double, start } = await bigQueryFixture();
	await loaded(await manifest(dayOf(1, "first")));
	double.jobs.held = true;
	const killed = await start(await manifest(dayOf(2, "early")));
	await expect
		.poll(() => double.jobs.inStates(["running"]).length, { timeout: 120_000 })
		.toBe(1);
	killed.process.child.kill("SIGKILL");
	await killed.finish();
	const [left] = double.jobs.inStates(["running"]);
	double.jobs.held = false;
	await loaded(await manifest(dayOf(3, "late")));
	expect(left?.status?.errorResult?.reason).toBe("stopped");
	expect(await rows(counted)).toEqual([[3]]);
});

test.each([
	["BigQuery", bigQueryFixture],
	["the bucket", stagingFixture],
])(
	"an upload to %s that is interrupted resumes where it stopped, or in a new session if its own is lost",
	async (_, open) => {
		const { manifest, loaded, rows, double, destination } = await open();
		let puts = 0;
		double.onRequest = ({ method }) => {
			if (method !== "PUT") return undefined;
			puts++;
			if (puts === 1) return "drop";
			if (puts === 2) return new Fault(503, "backendError", "Try again");
			if (puts === 3) double.uploads.forgetAll();
			return undefined;
		};
		await loaded(await manifest(dayOf(5)), { destination });
		expect(puts).toBeGreaterThan(3);
		expect(await rows(counted)).toEqual([[5]]);
	},
);

test("a transient error is retried, and a job that failed by one gets a successor", async () => {
	const { manifest, loaded, rows, double } = await bigQueryFixture();
	const days = await manifest(dayOf(5));
	let requests = 0;
	double.onRequest = () =>
		++requests % 5 === 0
			? new Fault(503, "backendError", "Try again")
			: undefined;
	double.jobs.failNext("backendError", "Try again");
	await loaded(days);
	expect(await rows(counted)).toEqual([[5]]);
	expect(
		double.jobs.all().map(({ jobReference }) => jobReference.jobId),
	).toEqual(
		[1, 2].map(
			(attempt) => `tidemill_${days.run}_whole_orders_20260301_${attempt}`,
		),
	);
});

test("each day's job reads its file from the bucket; files that killed and failed loads left are deleted by the next Run of the table, and no others", async () => {
	const { manifest, loaded, rows, double, destination, files } =
		await stagingFixture();
	const left = ["a", "b", "c"].map((run) => `${folder}/tidemill_${run}_rest_1`);
	const others = ["mine.csv", `${folder}_2/tidemill_a_rest_1`];
	for (const name of [...left, ...others])
		double.buckets.put("staging", name, Buffer.from(""));
	// Its first job fails, and its file is of no use any more.
	double.jobs.failNext("backendError", "Try again");
	const days = await manifest(dayOf(3));
	await loaded(days, { destination });
	expect(
		double.jobs
			.all()
			.flatMap(({ configuration: { load } }) => load?.sourceUris),
	).toEqual(
		[1, 2].map(
			(attempt) =>
				`gs://staging/${folder}/tidemill_${days.run}_whole_orders_20260301_${attempt}`,
		),
	);
	expect(
		double.requests.some(({ path }) => path.startsWith("/upload/bigquery/")),
	).toBe(false);
	expect(files()).toEqual(others);
	expect(await rows(counted)).toEqual([[3]]);
});

test("an Erase deletes files that killed loads left for a table that no Run loads any more", async () => {
	const { manifest, loaded, double, destination, files } =
		await stagingFixture();
	const first = await manifest({ [dates[0]!]: [] });
	const load = (name: string, more: Partial<Manifest> = {}) =>
		loaded(
			{ ...first, run: crypto.randomUUID(), ...more },
			{ destination, table: { name, columns, description: "" } },
		);
	await load("orders");
	double.buckets.put("staging", `${folder}/tidemill_a_rest_1`, Buffer.from(""));
	await load("orders_new");
	expect(files()).toHaveLength(1);
	const erasure = { mode: "RemoveRow", before: dates[0]!, eventIDs: ["a"] };
	await load("orders_new", {
		erasures: { asked: 1, others: [erasure as ManifestErasure] },
	});
	expect(files()).toEqual([]);
});

test("without a bucket, tokens are good for BigQuery alone", async () => {
	const { manifest, loaded, double } = await bigQueryFixture();
	let claims = "";
	double.onRequest = ({ authorization = "" }) => {
		claims = Buffer.from(authorization.split(".")[1]!, "base64url").toString();
		return undefined;
	};
	await loaded(await manifest({}));
	expect(JSON.parse(claims).scope).toBe(
		"https://www.googleapis.com/auth/bigquery",
	);
});

test("whatever BigQuery's reason is, a load fails as the reference has it, tries again if that can help, and the table stays as it was", async () => {
	quickRateLimits();
	const { double, manifest, load, loaded, rows } = await bigQueryFixture();
	await loaded(await manifest(dayOf(2)));
	const before = await rows("from shop.orders");
	for (const error of bigQueryErrors) {
		const { status, reason, message } = error;
		const jobsBefore = double.jobs.all().length;
		const fault = new Fault(status, reason, message);
		double.jobs.failure = status === 0 ? fault : undefined;
		double.onRequest = ({ path }) =>
			status !== 0 && path.startsWith("/upload/") ? fault : undefined;
		const { exitCode, result } = await load(await manifest(dayOf(2)));
		if (result?.outcome === "Failed" && status === 0) {
			expect(result.error.message).toMatch(namedJob);
			result.error.message = result.error.message.replace(namedJob, "");
		}
		const refusal = refusalOf(error);
		const failure = refusal.toFailure("load table orders");
		const expected = failure.toJobError();
		const largest =
			/The largest row has \d+ bytes as text, that of event .+\. The largest value has \d+ bytes, in column "\w+" of event .+\./;
		expect({ exitCode, result }).toMatchObject({
			exitCode: failure.exitCode,
			result: {
				outcome: "Failed",
				error: refusal.isOfSize
					? { ...expected, message: expect.stringMatching(largest) }
					: expected,
			},
		});
		const { attempts } = refusal.patience({
			attempts: 3,
			backoff: { baseMs: 0, maxMs: 0 },
		});
		const jobs = status > 0 ? 0 : refusal.isTransient ? attempts : 1;
		expect(double.jobs.all().length - jobsBefore, reason).toBe(jobs);
		expect(await rows("from shop.orders"), reason).toEqual(before);
	}
});

/** A file with the double's key, changed. */
async function keyFile(
	{ double, scratch }: BigQueryFixture,
	change: Record<string, string>,
): Promise<Record<string, string>> {
	const file = join(scratch, "../other-key.json");
	const key = { ...JSON.parse(double.keyJson), ...change };
	await writeFile(file, JSON.stringify(key));
	return { GOOGLE_APPLICATION_CREDENTIALS: file };
}

type Refusal = [
	what: string,
	prepare: (fixture: BigQueryFixture) => LoadOptions | Promise<LoadOptions>,
	error: { code: string; words?: string; retryable?: boolean },
];
const to = (
	{ destination }: BigQueryFixture,
	change: Partial<BigQueryInput>,
) => ({ input: { destination: { ...destination, ...change } } });

test.each<Refusal>([
	[
		"a request that is refused before the upload",
		({ double }) => {
			double.onRequest = ({ path }) =>
				path.endsWith("/datasets/shop/tables")
					? new Fault(403, "accessDenied", "In BigQuery's own words.")
					: undefined;
			return {};
		},
		{
			code: "PermissionDenied",
			words: "(accessDenied): In BigQuery's own words.",
		},
	],
	[
		"a dataset in another location",
		(fixture) => to(fixture, { location: "us-east1" }),
		{ code: "LocationMismatch", words: "is in EU, not in us-east1" },
	],
	[
		"a dataset that isn't there",
		(fixture) => to(fixture, { dataset: "fresh" }),
		{ code: "DatasetMissing" },
	],
	[
		"a key that Google doesn't know",
		async () => ({ env: (await bigQueryFixture()).env }),
		{ code: "CredentialsRefused" },
	],
	[
		"no key",
		() => ({
			env: {
				GOOGLE_APPLICATION_CREDENTIALS: "",
				// Without a home directory there is no cache either.
				HOME: "/dev/null",
				METADATA_SERVER_DETECTION: "none",
			},
		}),
		{ code: "CredentialsMissing" },
	],
	[
		"a key of another cloud at Google's address",
		async (fixture) => {
			const { apiEndpoint: _, ...destination } = fixture.destination;
			const env = await keyFile(fixture, { universe_domain: "s3nsapis.fr" });
			return { env, input: { destination } };
		},
		{
			code: "CredentialsRefused",
			words: "spec.bigQuery.apiEndpoint to https://bigquery.s3nsapis.fr",
		},
	],
	[
		"an API that can't be reached",
		(fixture) => to(fixture, { apiEndpoint: "http://127.0.0.1:9" }),
		{ code: "BigQueryUnavailable", retryable: true },
	],
	[
		"an API that sends the load elsewhere",
		({ double }) => {
			const location = "http://127.0.0.1:9/bigquery/v2/projects/p";
			double.onRequest = () =>
				new Fault(307, "invalid", "Moved.", { location });
			return {};
		},
		{ code: "BigQueryRefused" },
	],
])(
	"%s has an error of its own",
	async (_, prepare, { code, words = "", retryable = false }) => {
		const fixture = await bigQueryFixture();
		const days = await fixture.manifest(dayOf(2));
		const end = await fixture.load(days, await prepare(fixture));
		expect(end.result, end.log).toMatchObject({
			error: { code, message: expect.stringContaining(words), retryable },
		});
		expect(end.exitCode).toBe(retryable ? 75 : 65);
	},
);

test("a missing dataset is created in the location of the Destination if that says so", async () => {
	const fixture = await bigQueryFixture();
	const { manifest, loaded, double } = fixture;
	double.permissions.projectRole = "bigquery.user";
	const fresh = { dataset: "fresh", location: "US", createDataset: true };
	await loaded(await manifest(dayOf(1)), to(fixture, fresh).input);
	expect(double.warehouse.datasets.get("fresh")).toBe("US");
});

test("a load that is told to stop ends, whatever Google leaves unanswered", async () => {
	const fixture = await bigQueryFixture();
	const days = await fixture.manifest(dayOf(2));
	const silent = createServer();
	silent.listen(0, "127.0.0.1");
	await once(silent, "listening");
	onTestFinished(() => {
		silent.close();
		silent.closeAllConnections();
	});
	const host = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
	// The server for tokens of a Pod with workload identity.
	const workloadIdentity = {
		GOOGLE_APPLICATION_CREDENTIALS: "",
		METADATA_SERVER_DETECTION: "assume-present",
		GCE_METADATA_HOST: host,
	};
	for (const env of [{}, workloadIdentity]) {
		const asked = once(silent, "request");
		const load = await fixture.start(days, {
			env,
			...to(fixture, { apiEndpoint: `http://${host}` }),
		});
		await asked;
		load.process.child.kill("SIGTERM");
		const { result, log } = await load.finish();
		expect(result, log).toMatchObject({ error: { code: "Stopped" } });
		expect(log).toContain("load failed");
	}
});

test("a load outlasts a limit on changes of its table, and waits as long as BigQuery asks", async () => {
	quickRateLimits();
	const { double, manifest, loaded, rows } = await bigQueryFixture();
	const days = () => manifest(dayOf(2));
	// cloud.google.com/bigquery/quotas#standard_tables: 5 updates of a table's metadata in 10 seconds.
	double.warehouse.tableUpdates = { count: 1, withinMs: 300 };
	await loaded(await days());
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
	await loaded(await days());
	expect(waitedMs).toBeGreaterThanOrEqual(1_000);
	for (let n = 0; n < 5; n++)
		double.jobs.failNext("jobRateLimitExceeded", "Exceeded rate limits");
	await loaded(await days());
	expect(await rows(counted)).toEqual([[2]]);
});

test("a token that is refused is replaced once, and requests are paid by the key's quota project and go to the Destination's address alone", async () => {
	const fixture = await bigQueryFixture();
	const { double, manifest, load } = fixture;
	const elsewhere = await bigQueryFixture();
	const env = {
		...(await keyFile(fixture, {
			quota_project_id: "payer-1",
			// That of another cloud is of use at an address that was given.
			universe_domain: "s3nsapis.fr",
		})),
		BIGQUERY_EMULATOR_HOST: elsewhere.double.endpoint,
	};
	const refused = new Fault(401, "authError", "Invalid Credentials");
	// Every third token, so that jobs, changes and uploads get another one, too.
	double.onRequest = () =>
		double.requests.length % 3 === 1 ? refused : undefined;
	const { exitCode, log } = await load(await manifest(dayOf(2)), { env });
	expect(exitCode, log).toBe(0);
	expect(new Set(double.requests.map((seen) => seen.quotaProject))).toEqual(
		new Set(["payer-1"]),
	);
	expect(elsewhere.double.requests).toEqual([]);
	double.onRequest = () => refused;
	const before = double.requests.length;
	expect((await load(await manifest(dayOf(2)), { env })).result).toMatchObject({
		error: { code: "CredentialsRefused" },
	});
	expect(double.requests.length - before).toBe(2);
});

test("the documented roles suffice for the check and for each kind of Run; the check tries all that a Run does, and leaves nothing behind", async () => {
	const { double, destination, env, manifest, loaded } =
		await bigQueryFixture();
	expect(double.permissions.projectRole).toBe("bigquery.jobUser");
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
	for (let run = 1; run <= 2; run++)
		await loaded(await manifest({ ...dayOf(2), [dates[1]!]: [] }));
});

type Lacking = [
	what: string,
	code: string,
	words: string,
	change: Partial<BigQueryInput>,
	prepare?: (double: BigQueryDouble) => void,
];
const rights = [
	...["jobs.create", "datasets.get"],
	...["tables.create", "tables.update", "tables.delete"],
].map(
	(right): Lacking => [
		...([`a right to ${right}`, "PermissionDenied"] as const),
		`bigquery.${right} denied`,
		{},
		({ permissions }) => void permissions.denied.add(right),
	],
);

test.each<Lacking>([
	...rights,
	[
		"a key in another location",
		"BigQueryRefused",
		"is not in the location of the dataset",
		{ kmsKeyName: "projects/p/locations/us/keyRings/r/cryptoKeys/k" },
	],
	[
		"the bucket",
		"StagingBucketMissing",
		"Cloud Storage refused to write a table for the check (notFound)",
		{ stagingBucket: "other" },
	],
	[
		"a right to write to the bucket",
		"StagingBucketDenied",
		"storage.objects.create denied",
		{ stagingBucket: "staging" },
		(double) => {
			double.onRequest = ({ path }) =>
				path.startsWith("/upload/storage/")
					? new Fault(403, "forbidden", "storage.objects.create denied")
					: undefined;
		},
	],
])("a check that lacks %s says so", async (_, code, words, change, prepare) => {
	const { double, destination, env } = await stagingFixture();
	const { stagingBucket: __, ...direct } = destination;
	prepare?.(double);
	const given = { ...direct, ...change };
	expect((await checkDestination(given, env)).result).toMatchObject({
		error: {
			code,
			message: expect.stringContaining(words),
			retryable: false,
		},
	});
	// That of the check that wasn't allowed to delete its table. BigQuery deletes it within the hour.
	const left = double.warehouse.tableNames().filter((id) => /check/.test(id));
	expect(left).toHaveLength(words.includes("tables.delete") ? 1 : 0);
});

test("a check writes through the bucket, with a key, and leaves nothing in either", async () => {
	const { double, destination, env, files } = await stagingFixture();
	const kmsKeyName =
		"projects/test-project/locations/europe/keyRings/r/cryptoKeys/k";
	const given = { ...destination, kmsKeyName };
	const { exitCode, log } = await checkDestination(given, env);
	expect(exitCode, log).toBe(0);
	expect(files()).toEqual([]);
	expect(double.jobs.all()[0]!.configuration.load?.sourceUris).toHaveLength(1);
});
