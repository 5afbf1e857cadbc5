import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { BigQuery, Job, Table } from "@google-cloud/bigquery";
import { quoteText } from "../../../../packages/duckdb/quoting.ts";
import { writeParquet } from "./parquet-file.ts";

/**
 * What load relies on in BigQuery: the same checks, by Google's own client, hold for the double in each `make test-all` and for
 * BigQuery itself in `make test-bigquery`. docs/reference/bigquery-behaviours.md is generated from this list.
 */
export interface Behaviour {
	/** A sentence about BigQuery. */
	name: string;
	/** The page of Google's documentation that says so. */
	page: string;
	/** Whether it needs roles/bigquery.user, which a Job needs only to create the dataset. */
	createsDatasets?: true;
	check(place: Place): Promise<void>;
}

/** A dataset to try things in. */
export interface Place {
	bigQuery: BigQuery;
	dataset: string;
	location: string;
	/** For files. */
	directory: string;
}

const docs = "https://cloud.google.com/bigquery/docs";

export const behaviours: Behaviour[] = [
	{
		name: "A dataset that exists is not created again: 409, duplicate.",
		page: `${docs}/reference/rest/v2/datasets/insert`,
		createsDatasets: true,
		async check({ bigQuery, dataset, location }) {
			const again = bigQuery.createDataset(dataset, { location });
			await refused(again, 409, "duplicate");
		},
	},
	{
		name: "What isn't there is 404, notFound: a dataset, a table, a job.",
		page: `${docs}/error-messages`,
		async check({ bigQuery, dataset, location }) {
			const none = bigQuery.dataset("tidemill_none");
			await refused(none.getMetadata(), 404, "notFound");
			const table = bigQuery.dataset(dataset).table("none");
			await refused(table.getMetadata(), 404, "notFound");
			const job = bigQuery.job("tidemill_none", { location });
			await refused(job.getMetadata(), 404, "notFound");
		},
	},
	{
		name: "A table has the description, labels, partitions, clustering and expiration that it was created with.",
		page: `${docs}/reference/rest/v2/tables#resource:-table`,
		async check(place) {
			const { table } = await daily(place);
			const [found] = await table.getMetadata();
			const { timePartitioning, clustering } = found;
			assert.deepEqual(timePartitioning, {
				type: "DAY",
				field: "date",
				expirationMs: "34560000000000",
			});
			assert.deepEqual(clustering, { fields: ["event_id"] });
			assert.equal(found.description, "Made by a test");
			assert.equal(found.labels.team, "shop");
		},
	},
	{
		name: "A table says how many rows it has: none once it is created, and those of a load job once that is done.",
		page: `${docs}/reference/rest/v2/tables#resource:-table`,
		async check(place) {
			const { table, load } = await daily(place);
			const [made] = await table.getMetadata();
			assert.equal(made.numRows, "0");
			await load("20260301", ["a", "b"]);
			const [{ type, numRows }] = await table.getMetadata();
			assert.deepEqual({ type, numRows }, { type: "TABLE", numRows: "2" });
		},
	},
	{
		name: "A view has a type of its own, and no rows.",
		page: `${docs}/reference/rest/v2/tables#resource:-table`,
		async check({ bigQuery, dataset }) {
			const name = `behaviour_${randomUUID().replaceAll("-", "")}`;
			const view = { query: "SELECT 'a' AS event_id", useLegacySql: false };
			const [made] = await bigQuery
				.dataset(dataset)
				.createTable(name, { view });
			const [{ type, numRows = "0" }] = await made.getMetadata();
			assert.deepEqual({ type, numRows }, { type: "VIEW", numRows: "0" });
		},
	},
	{
		name: "A patch changes what it names, and adds labels to those that are there.",
		page: `${docs}/reference/rest/v2/tables/patch`,
		async check(place) {
			const { table } = await daily(place);
			await table.setMetadata({ labels: { other: "1" }, description: "New" });
			const [{ labels, description, clustering }] = await table.getMetadata();
			assert.deepEqual({ ...labels }, { team: "shop", other: "1" });
			assert.equal(description, "New");
			assert.deepEqual(clustering, { fields: ["event_id"] });
		},
	},
	{
		name: "Clustering and the expiration of partitions can be changed later.",
		page: `${docs}/creating-clustered-tables#modifying-cluster-spec`,
		async check(place) {
			const { table } = await daily(place);
			const expirationMs = "864000000000";
			await table.setMetadata({
				clustering: { fields: ["body"] },
				timePartitioning: { type: "DAY", field: "date", expirationMs },
				requirePartitionFilter: true,
			});
			const [found] = await table.getMetadata();
			assert.deepEqual(found.clustering, { fields: ["body"] });
			assert.equal(found.timePartitioning.expirationMs, expirationMs);
			assert.equal(found.requirePartitionFilter, true);
		},
	},
	{
		name: "A change with the ETag of an earlier state is refused: 412, conditionNotMet. With the current ETag it is made.",
		page: `${docs}/api-performance#conditional-modification`,
		async check(place) {
			const { table } = await daily(place);
			const [{ etag }] = await table.getMetadata();
			await table.setMetadata({ description: "First" });
			const late = table.setMetadata({ description: "Second", etag });
			await refused(late, 412, "conditionNotMet");
			// The client sends the ETag in the body, too.
			const [current] = await table.getMetadata();
			await table.setMetadata({ description: "Third", etag: current.etag });
			const [{ description }] = await table.getMetadata();
			assert.equal(description, "Third");
		},
	},
	{
		name: "A label with capitals is refused.",
		page: `${docs}/labels-intro#requirements`,
		async check(place) {
			await refused(daily(place, { labels: { Team: "x" } }), 400, "invalid");
		},
	},
	{
		name: "A table is clustered by at most four of its columns, and by no FLOAT.",
		page: `${docs}/creating-clustered-tables#limitations`,
		async check(place) {
			for (const fields of [["total"], ["none"]])
				await refused(daily(place, { clustering: { fields } }), 400, "invalid");
			const fields = ["a", "b", "c", "d", "e"];
			const wide = {
				schema: {
					fields: [
						{ name: "date", type: "DATE" },
						...fields.map((name) => ({ name, type: "STRING" })),
					],
				},
				clustering: { fields },
			};
			await refused(daily(place, wide), 400, "invalid");
		},
	},
	{
		name: "A load of Parquet into a partition, with WRITE_TRUNCATE, replaces that day alone, and the job counts its rows.",
		page: `${docs}/managing-partitioned-table-data#write-partition`,
		async check(place) {
			const { load, ids } = await daily(place);
			await load("20260301", ["a", "b"]);
			await load("20260302", ["c"]);
			const job = await load("20260301", ["d"]);
			assert.equal(job.statistics.load.outputRows, "1");
			assert.deepEqual(await ids(), ["c", "d"]);
		},
	},
	{
		name: "A load into a partition fails on a row of another day, and the partition stays.",
		page: `${docs}/managing-partitioned-table-data#write-partition`,
		async check(place) {
			const { load, ids } = await daily(place);
			await load("20260301", ["a"]);
			await failed(load("20260301", ["b"], { date: "2026-03-02" }), "invalid");
			assert.deepEqual(await ids(), ["a"]);
		},
	},
	{
		name: "A load brings no column that the table lacks. A patch of the schema adds it, and keeps what people set on others.",
		page: `${docs}/managing-table-schemas#add_a_nested_column_to_a_record_column`,
		async check(place) {
			const { table, load, rowsNow } = await daily(place);
			await load("20260301", ["a"]);
			const more = { columns: ", 'x' AS header_x" };
			await failed(load("20260302", ["b"], more), "invalid");
			const [{ schema }] = await table.getMetadata();
			const described = schema.fields.map((field: { name: string }) =>
				field.name === "body" ? { ...field, description: "As sent" } : field,
			);
			const fields = [...described, { name: "header_x", type: "STRING" }];
			await table.setMetadata({ schema: { fields } });
			await load("20260302", ["b"], more);
			const rows = await rowsNow();
			assert.deepEqual(rows.map(({ header_x }) => header_x).toSorted(), [
				null,
				"x",
			]);
		},
	},
	{
		name: "A column of the table that a load lacks is NULL in the rows of that load, whichever it replaces: a partition or the table.",
		page: `${docs}/managing-table-schemas#delete_a_column`,
		async check(place) {
			const { load, whole, rowsNow } = await daily(place);
			const rows = async () =>
				(await rowsNow()).map(({ event_id, total }) => [event_id, total]);
			await load("20260301", ["a"]);
			assert.deepEqual(await rows(), [["a", null]]);
			await load("20260302", ["b"], whole);
			assert.deepEqual(await rows(), [["b", null]]);
		},
	},
	{
		name: "A load with WRITE_TRUNCATE_DATA replaces the table's rows, also by none, and keeps its columns' descriptions, its labels and its options.",
		page: `${docs}/reference/auditlogs/rest/Shared.Types/BigQueryAuditMetadata.WriteDisposition`,
		async check(place) {
			const { table, load, whole, ids } = await daily(place);
			await load("20260301", ["a"]);
			const [{ schema }] = await table.getMetadata();
			const fields = schema.fields.map((field: object) => ({
				...field,
				description: "As sent",
			}));
			await table.setMetadata({ schema: { fields } });
			const [before] = await table.getMetadata();
			for (const events of [["b", "c"], []]) {
				await load("20260302", events, whole);
				assert.deepEqual(await ids(), events);
				const [after] = await table.getMetadata();
				for (const name of ["schema", "labels", "description", "clustering"])
					assert.deepEqual(after[name], before[name]);
				assert.deepEqual(after.timePartitioning, before.timePartitioning);
			}
		},
	},
	{
		name: "A load doesn't change a column's type.",
		page: `${docs}/managing-table-schemas#change_a_columns_data_type`,
		async check(place) {
			const { load } = await daily(place, {}, "1 AS body");
			await failed(load("20260301", ["a"]), "invalid");
		},
	},
	{
		name: "A job's id is taken for good: 409, duplicate, whether the job is running, done or failed.",
		page: `${docs}/running-jobs#generate-jobid`,
		async check(place) {
			const { load, ids } = await daily(place);
			const jobId = `tidemill_${randomUUID()}`;
			await load("20260301", ["a"], { options: { jobId } });
			await refused(
				load("20260301", ["b"], { options: { jobId } }),
				409,
				"duplicate",
			);
			assert.deepEqual(await ids(), ["a"]);
		},
	},
	{
		name: "A job that is done stays done when it is cancelled.",
		page: `${docs}/managing-jobs#cancel_jobs`,
		async check(place) {
			const { load } = await daily(place);
			const jobId = `tidemill_${randomUUID()}`;
			await load("20260301", ["a"], { options: { jobId } });
			const { location } = place;
			const [{ job }] = await place.bigQuery.job(jobId, { location }).cancel();
			assert.equal(job?.status?.state, "DONE");
			assert.equal(job?.status?.errorResult, undefined);
		},
	},
	{
		name: "A partition is deleted by its decorator, and other days stay.",
		page: `${docs}/managing-partitioned-tables#delete_a_partition`,
		async check(place) {
			const { load, ids, partition } = await daily(place);
			await load("20260301", ["a"]);
			await load("20260302", ["b"]);
			await partition("20260301").delete();
			assert.deepEqual(await ids(), ["b"]);
		},
	},
];

/** A table partitioned by day, of its own for each check. */
async function daily(
	{ bigQuery, dataset, directory }: Place,
	changes: object = {},
	body = "'{}' AS body",
) {
	const name = `behaviour_${randomUUID().replaceAll("-", "")}`;
	const fields = [
		{ name: "event_id", type: "STRING" },
		{ name: "body", type: "STRING" },
		{ name: "total", type: "FLOAT" },
		{ name: "date", type: "DATE" },
	];
	const [table] = await bigQuery.dataset(dataset).createTable(name, {
		schema: { fields },
		description: "Made by a test",
		labels: { team: "shop" },
		timePartitioning: {
			type: "DAY",
			field: "date",
			expirationMs: "34560000000000",
		},
		clustering: { fields: ["event_id"] },
		...changes,
	});
	const partition = (day: string) =>
		bigQuery.dataset(dataset).table(`${name}$${day}`);
	/** The client's object of a table keeps the columns that it has seen. */
	async function rowsNow() {
		const [rows] = await bigQuery.dataset(dataset).table(name).getRows();
		return rows;
	}
	return {
		table,
		partition,
		rowsNow,
		/** What has a load replace the whole table. */
		whole: {
			into: table,
			options: { writeDisposition: "WRITE_TRUNCATE_DATA" },
		},
		/** Loads a day, and returns the job once it is done. */
		async load(
			day: string,
			events: string[],
			{
				date = day.replace(/(....)(..)(..)/, "$1-$2-$3"),
				columns = "",
				options = {},
				into = partition(day),
			}: {
				date?: string;
				columns?: string;
				options?: object;
				into?: Table;
			} = {},
		) {
			const file = join(directory, `${randomUUID()}.parquet`);
			await writeParquet(
				file,
				`SELECT unnest([${events.map(quoteText).join(", ")}]::VARCHAR[]) AS event_id, ${body}, DATE ${quoteText(date)} AS date${columns}`,
			);
			const [job] = await into.createLoadJob(file, {
				sourceFormat: "PARQUET",
				writeDisposition: "WRITE_TRUNCATE",
				createDisposition: "CREATE_NEVER",
				...options,
			});
			return ended(job);
		},
		async ids(): Promise<string[]> {
			const rows = await rowsNow();
			return rows.map(({ event_id }) => event_id).toSorted();
		},
	};
}

/** What BigQuery says of a job once it has ended. Throws if it failed. The client's own wait is half a second at least. */
async function ended(job: Job) {
	for (let waitMs = 20; ; waitMs = Math.min(waitMs * 2, 2_000)) {
		const [found] = await job.getMetadata();
		const { state, errorResult } = found.status;
		if (state === "DONE" && errorResult)
			throw Object.assign(new Error(errorResult.message), {
				errors: [errorResult],
			});
		if (state === "DONE") return found;
		await delay(waitMs);
	}
}

/** A request's refusal, as the client throws it. */
async function refused(
	request: Promise<unknown>,
	code: number,
	reason: string,
): Promise<void> {
	await assert.rejects(request, (error: ClientError) => {
		assert.deepEqual([error.code, error.errors?.[0]?.reason], [code, reason]);
		return true;
	});
}

/** A job that ends with an error. */
async function failed(job: Promise<unknown>, reason: string): Promise<void> {
	await assert.rejects(job, (error: ClientError) => {
		assert.equal(error.errors?.[0]?.reason, reason);
		return true;
	});
}

interface ClientError {
	code?: number;
	errors?: { reason?: string }[];
}
