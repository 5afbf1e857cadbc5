import { randomUUID } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { quoteName, quoteText } from "../../../../packages/duckdb/quoting.ts";
import type {
	BigQueryField,
	BigQueryJob,
	BigQueryTable,
	TableReference,
} from "../../../../packages/warehouses/bigquery/load/rest/google-refusal.ts";
import type { Buckets } from "./buckets.ts";
import { duplicate, Fault, invalid, notFound, requireKnown } from "./fault.ts";
import {
	jsonColumns,
	type Load,
	loadFields,
	requireJsonRows,
	requireKey,
	requireTable,
	schemaAfter,
} from "./job-rules.ts";
import {
	bigQueryType,
	onPartition,
	partitionOf,
	type Warehouse,
} from "./warehouse.ts";

/** Load jobs per table and day, failed ones included (cloud.google.com/bigquery/quotas#load_jobs). */
const loadsPerTable = 1_500;

/**
 * Jobs by their ids, which can't be used again (cloud.google.com/bigquery/docs/running-jobs#generate-jobid). They run one
 * after the other.
 */
export class Jobs {
	readonly #warehouse: Warehouse;
	readonly #buckets: Buckets;
	readonly #jobs = new Map<string, BigQueryJob>();
	/** By the id of a job with a query: what it has found. */
	readonly results = new Map<string, (string | null)[][]>();
	/** If set, every job that loads fails with it. */
	failure: Fault | undefined;
	/** The next jobs fail with these, one each. */
	readonly #failures: Fault[] = [];
	#tail: Promise<void> = Promise.resolve();
	/** While true, jobs that load stay RUNNING, and those with a query end (cloud.google.com/bigquery/docs/reference/rest/v2/Job#JobStatus). */
	held = false;

	constructor(warehouse: Warehouse, buckets: Buckets) {
		this.#warehouse = warehouse;
		this.#buckets = buckets;
	}

	all(): BigQueryJob[] {
		return [...this.#jobs.values()];
	}

	inStates(states: string[]): BigQueryJob[] {
		return this.all().filter(({ status }) =>
			states.includes(status!.state.toLowerCase()),
		);
	}

	/** Settles when every started job has ended. */
	async settled(): Promise<void> {
		await this.#tail;
	}

	failNext(reason: string, message: string): void {
		this.#failures.push(new Fault(0, reason, message));
	}

	find(jobId: string, location: string | null): BigQueryJob {
		const job = this.#jobs.get(jobId);
		// Outside of US and EU a job is found only by its location (reference of jobs.get). The double always requires it.
		if (!job || location !== job.jobReference.location)
			throw notFound(`Job ${this.#warehouse.projectId}:${jobId}`);
		return job;
	}

	/** Throws if the job can't start, so that an upload is refused before its data. */
	requireStartable(job: BigQueryJob): void {
		const { jobReference, configuration } = job;
		requireKnown(job, ["jobReference", "configuration"], "job");
		requireKnown(
			configuration,
			["labels", "load", "query"],
			"job.configuration",
		);
		if (!/^[\w-]{1,1024}$/.test(jobReference.jobId))
			throw invalid(`Invalid job ID "${jobReference.jobId}".`);
		if (this.#jobs.has(jobReference.jobId))
			throw duplicate(`Job ${jobReference.projectId}:${jobReference.jobId}`);
		const { datasetId } = targetOf(configuration);
		const location = this.#warehouse.requireDataset(datasetId);
		// Without a location a job runs where its data is (cloud.google.com/bigquery/docs/locations#specify_locations).
		const { location: asked = location } = jobReference;
		if (asked.toLowerCase() !== location.toLowerCase())
			throw notFound(
				`Dataset ${jobReference.projectId}:${datasetId} was not found in location ${jobReference.location}`,
			);
		const { load } = configuration;
		if (load) requireKnown(load, loadFields, "job.configuration.load");
	}

	/** @param data of a load job. */
	start(job: BigQueryJob, data?: Uint8Array): BigQueryJob {
		this.requireStartable(job);
		const location = this.#warehouse.requireDataset(
			targetOf(job.configuration).datasetId,
		);
		const started: BigQueryJob = {
			...job,
			jobReference: { location, ...job.jobReference },
			status: { state: "RUNNING" },
			statistics: { creationTime: String(Date.now()) },
		};
		this.#jobs.set(job.jobReference.jobId, started);
		if (!this.held || !job.configuration.load)
			this.#tail = this.#tail.then(() =>
				this.#warehouse.alone(() => this.#end(started, data)),
			);
		return structuredClone(started);
	}

	/** cloud.google.com/bigquery/docs/managing-jobs#cancel_jobs */
	cancel(jobId: string, location: string | null): void {
		const job = this.find(jobId, location);
		if (job.status?.state === "DONE") return;
		job.status = {
			state: "DONE",
			errorResult: { reason: "stopped", message: "Job was cancelled" },
		};
	}

	async #end(job: BigQueryJob, data: Uint8Array | undefined): Promise<void> {
		// It was cancelled before its turn.
		if (job.status?.state === "DONE") return;
		try {
			const { query, load } = job.configuration;
			const failure = this.#failures.shift() ?? (load && this.failure);
			if (failure) throw failure;
			if (query?.query.startsWith("SELECT")) {
				const found = await this.#warehouse.sql(
					this.#warehouse.sqlOf(query.query),
				);
				this.results.set(
					job.jobReference.jobId,
					found.map((row) =>
						row.map((value) => (value === null ? null : String(value))),
					),
				);
				job.statistics = { ...job.statistics, query: {} };
				job.status = { state: "DONE" };
				return;
			}
			if (query) {
				const numDmlAffectedRows = String(await this.#change(query.query));
				job.statistics = { ...job.statistics, query: { numDmlAffectedRows } };
				job.status = { state: "DONE" };
				return;
			}
			if (!load) throw invalid("A job needs a load or a query.");
			this.#requireQuota(load);
			const bytes = data ?? this.#buckets.read(load.sourceUris?.[0] ?? "");
			const outputRows = String(await this.#load(load, bytes));
			job.statistics = { ...job.statistics, load: { outputRows } };
			job.status = { state: "DONE" };
		} catch (error) {
			const fault =
				error instanceof Fault ? error : invalid((error as Error).message);
			job.status = { state: "DONE", errorResult: fault.toErrorResult() };
		}
	}

	/**
	 * A DELETE or UPDATE, which may ask another table and changes all of its rows or none
	 * (cloud.google.com/bigquery/docs/reference/standard-sql/dml-syntax).
	 */
	#change(query: string): Promise<number> {
		const { projectId, datasetId, tableId } = dmlTarget(query);
		const reference = { projectId, datasetId, tableId };
		requireTable(this.#warehouse.require(reference));
		return this.#warehouse.run(this.#warehouse.sqlOf(query));
	}

	#requireQuota({ destinationTable }: Load): void {
		const name = (tableId: string) => tableId.split("$")[0];
		const loads = this.all().filter(
			({ configuration: { load } }) =>
				load?.destinationTable.datasetId === destinationTable.datasetId &&
				name(load.destinationTable.tableId) === name(destinationTable.tableId),
		);
		if (loads.length > loadsPerTable)
			throw new Fault(
				0,
				"quotaExceeded",
				"Quota exceeded: Your table exceeded quota for imports or query appends per table.",
			);
	}

	/** One transaction: a job's write is atomic (reference of JobConfigurationLoad, writeDisposition). Returns the number of rows. */
	async #load(load: Load, data: Uint8Array): Promise<number> {
		const table = this.#warehouse.require(load.destinationTable);
		requireTable(table);
		requireKey(table, load);
		const file = join(tmpdir(), `tidemill-double-${randomUUID()}`);
		await writeFile(file, data);
		try {
			const isTyped = load.sourceFormat === "PARQUET";
			if (!isTyped) requireJsonRows(data, table);
			const rows = isTyped
				? `read_parquet(${quoteText(file)})`
				: `read_json(${quoteText(file)}, format = 'newline_delimited', columns = {${jsonColumns(data, table)}})`;
			const fields = await this.#fieldsOf(rows, load);
			const schema = schemaAfter(table, fields, load, isTyped);
			await this.#requireOnePartition(table, load, rows);
			return await this.#replaceRows(table, load, schema, fields, rows);
		} finally {
			await rm(file, { force: true });
		}
	}

	async #fieldsOf(
		rows: string,
		{ decimalTargetTypes = ["NUMERIC"] }: Load,
	): Promise<BigQueryField[]> {
		const columns = await this.#warehouse.sql(
			`SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM ${rows})`,
		);
		return columns.map(([name, found]) => {
			const type = bigQueryType(String(found));
			if (type === "BIGNUMERIC" && !decimalTargetTypes.includes(type))
				throw invalid(`Field ${name} doesn't fit the type NUMERIC`);
			return { name: String(name), type };
		});
	}

	/** Rows of another day fail the load (cloud.google.com/bigquery/docs/managing-partitioned-table-data). */
	async #requireOnePartition(
		table: BigQueryTable,
		{ destinationTable: { tableId } }: Load,
		rows: string,
	): Promise<void> {
		const date = partitionOf(tableId);
		if (date === undefined) return;
		const [[strays] = []] = await this.#warehouse.sql(
			`SELECT count(*) FILTER (NOT coalesce(${onPartition(table, date)}, false))::INT FROM ${rows}`,
		);
		if (strays)
			throw invalid(
				`Some rows belong to different partitions rather than destination partition ${date.replaceAll("-", "")}`,
			);
	}

	async #replaceRows(
		table: BigQueryTable,
		{ destinationTable, writeDisposition: disposition }: Load,
		schema: BigQueryField[],
		fields: BigQueryField[],
		rows: string,
	): Promise<number> {
		const name = this.#warehouse.sqlName(destinationTable);
		const date = partitionOf(destinationTable.tableId);
		await this.#warehouse.run("BEGIN");
		try {
			await this.#warehouse.run(
				`DELETE FROM ${name}${date === undefined ? "" : ` WHERE ${onPartition(table, date)}`}`,
			);
			const columns = fields.map((field) => quoteName(field.name)).join(", ");
			const loaded = await this.#warehouse.run(
				`INSERT INTO ${name} (${columns}) SELECT ${columns} FROM ${rows}`,
			);
			await this.#warehouse.run("COMMIT");
			if (disposition === "WRITE_TRUNCATE" && date === undefined)
				this.#warehouse.truncateMetadata(destinationTable);
			this.#warehouse.setFields(destinationTable, schema);
			return loaded;
		} catch (error) {
			await this.#warehouse.run("ROLLBACK");
			throw error;
		}
	}
}

const dmlForm =
	/^(DELETE FROM|UPDATE|SELECT .+? FROM) `([^`.]+)\.([^`.]+)\.([^`.]+)`/;

function dmlTarget(query: string): TableReference {
	const [, , projectId = "", datasetId = "", tableId = ""] =
		dmlForm.exec(query) ?? [];
	return { projectId, datasetId, tableId };
}

/** The table that a job writes to, or reads. */
function targetOf({
	load,
	query,
}: BigQueryJob["configuration"]): TableReference {
	return load ? load.destinationTable : dmlTarget(query!.query);
}
