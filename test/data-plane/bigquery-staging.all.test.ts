import { expect, test } from "vitest";
import type {
	Manifest,
	ManifestErasure,
} from "../../packages/contracts/manifest.ts";
import type { BigQueryInput } from "../../packages/warehouses/bigquery/input.ts";
import { Fault } from "../support/doubles/bigquery/fault.ts";
import { bigQueryFixture } from "../support/fixtures/data-plane/bigquery-fixture.ts";
import { checkDestination } from "../support/fixtures/data-plane/check-fixture.ts";
import {
	columns,
	eventsOf,
} from "../support/fixtures/data-plane/load-fixture.ts";

const perDay =
	"select date::text, count(*)::int from shop.orders group by date order by date";
const folder = "tidemill/test-project.shop.orders";

/** A Destination whose load jobs read from the bucket `staging`. */
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

test("each day is one job that reads its file from the bucket, and no file stays there", async () => {
	const { manifest, load, rows, double, destination, files } =
		await stagingFixture();
	const march = await manifest({
		"2026-03-01": [eventsOf("2026-03-01", 3, "a")],
		"2026-03-02": [eventsOf("2026-03-02", 2, "a")],
	});
	const { exitCode, log } = await load(march, { input: { destination } });
	expect(exitCode, log).toBe(0);
	expect(await rows(perDay)).toEqual([
		["2026-03-01", 3],
		["2026-03-02", 2],
	]);
	const ids = ["20260301", "20260302"].map(
		(day) => `tidemill_${march.run}_whole_orders_${day}_1`,
	);
	expect(
		double.jobs
			.all()
			.flatMap(({ configuration: { load } }) => load?.sourceUris)
			.toSorted(),
	).toEqual(ids.map((id) => `gs://staging/${folder}/${id}`));
	expect(
		double.requests.some(({ path }) => path.startsWith("/upload/bigquery/")),
	).toBe(false);
	expect(files()).toEqual([]);
});

test("a full reload goes through the bucket, too", async () => {
	const { manifest, load, rows, double, destination, files } =
		await stagingFixture();
	const { exitCode, log } = await load(
		await manifest({ "2026-03-01": [eventsOf("2026-03-01", 3, "a")] }),
		{
			input: {
				destination,
				strategy: "FullReload",
				table: {
					name: "orders",
					description: "",
					columns: columns.slice(0, 3),
				},
			},
		},
	);
	expect(exitCode, log).toBe(0);
	expect(await rows("select count(*)::int from shop.orders")).toEqual([[3]]);
	expect(double.jobs.all()[0]!.configuration.load?.sourceUris).toHaveLength(1);
	expect(files()).toEqual([]);
});

test("files that killed and failed loads left are deleted by the next Run of the table, and no others", async () => {
	const { manifest, load, double, destination, files } = await stagingFixture();
	const left = ["a", "b", "c"].map((run) => `${folder}/tidemill_${run}_rest_1`);
	const others = ["mine.csv", `${folder}_2/tidemill_a_rest_1`];
	for (const name of [...left, ...others])
		double.buckets.put("staging", name, Buffer.from(""));
	// Its first job fails, and its file is of no use any more.
	double.jobs.failNext("backendError", "Try again");
	const { exitCode, log } = await load(
		await manifest({ "2026-03-01": [eventsOf("2026-03-01", 3, "a")] }),
		{ input: { destination } },
	);
	expect(exitCode, log).toBe(0);
	expect(double.jobs.all()).toHaveLength(2);
	expect(files()).toEqual(others);
});

test("an Erase deletes files that killed loads left for a table that no Run loads any more", async () => {
	const { manifest, load, double, destination, files } = await stagingFixture();
	const first = await manifest({ "2026-03-01": [] });
	const loaded = async (name: string, more: Partial<Manifest>) => {
		const end = await load(
			{ ...first, run: crypto.randomUUID(), ...more },
			{ input: { destination, table: { name, columns, description: "" } } },
		);
		expect(end.exitCode, end.log).toBe(0);
	};
	await loaded("orders", {});
	double.buckets.put("staging", `${folder}/tidemill_a_rest_1`, Buffer.from(""));
	await loaded("orders_new", {});
	expect(files()).toHaveLength(1);
	const erasure = { mode: "RemoveRow", before: "2026-03-01", eventIDs: ["a"] };
	await loaded("orders_new", {
		erasures: { asked: 1, others: [erasure as ManifestErasure] },
	});
	expect(files()).toEqual([]);
});

test("an upload to the bucket that is interrupted resumes, and its file is whole", async () => {
	const { manifest, load, rows, double, destination } = await stagingFixture();
	let puts = 0;
	double.onRequest = ({ method }) => {
		if (method !== "PUT") return undefined;
		puts++;
		if (puts === 1) return "drop";
		if (puts === 2) return new Fault(503, "backendError", "Try again");
		if (puts === 3) double.uploads.forgetAll();
		return undefined;
	};
	const { exitCode, log } = await load(
		await manifest({ "2026-03-01": [eventsOf("2026-03-01", 5, "a")] }),
		{ input: { destination } },
	);
	expect(exitCode, log).toBe(0);
	expect(puts).toBeGreaterThan(3);
	expect(await rows(perDay)).toEqual([["2026-03-01", 5]]);
});

test("a check writes through the bucket, and says what is wrong with it", async () => {
	const { double, destination, env, files } = await stagingFixture();
	const { exitCode, log } = await checkDestination(destination, env);
	expect(exitCode, log).toBe(0);
	expect(files()).toEqual([]);
	expect(double.jobs.all()[0]!.configuration.load?.sourceUris).toHaveLength(1);

	const missing = { ...destination, stagingBucket: "other" };
	expect((await checkDestination(missing, env)).result).toMatchObject({
		error: {
			code: "StagingBucketMissing",
			message: expect.stringContaining(
				"Cloud Storage refused to write a table for the check (notFound)",
			),
			retryable: false,
		},
	});
	double.onRequest = ({ path }) =>
		path.startsWith("/upload/storage/")
			? new Fault(403, "forbidden", "storage.objects.create denied")
			: undefined;
	expect((await checkDestination(destination, env)).result).toMatchObject({
		error: {
			code: "StagingBucketDenied",
			message: expect.stringContaining("storage.objects.create denied"),
		},
	});
});

test("without a bucket, tokens are good for BigQuery alone", async () => {
	const { manifest, load, double, destination } = await stagingFixture();
	const { stagingBucket: _, ...direct } = destination;
	let claims = "";
	double.onRequest = ({ authorization = "" }) => {
		claims = Buffer.from(authorization.split(".")[1]!, "base64url").toString();
		return undefined;
	};
	await load(await manifest({}), { input: { destination: direct } });
	expect(JSON.parse(claims).scope).toBe(
		"https://www.googleapis.com/auth/bigquery",
	);
});
