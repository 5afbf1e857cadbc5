import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { LoadInput } from "../../../contracts/job.ts";
import { dayMs } from "../../../contracts/utc-date.ts";
import { JobFailure } from "../errors.ts";
import type { JobContext } from "../job.ts";
import { type LoadProgress, progressOf } from "../progress.ts";
import type { Job, Table } from "./api.ts";
import type { BigQueryDataset } from "./dataset.ts";
import {
	type Claim,
	claimLabels,
	claimOn,
	label,
	tableDigest,
} from "./labels.ts";
import { completeJob, untilEnded } from "./load-job.ts";
import { ParquetFiles } from "./parquet-files.ts";
import {
	type BigQueryPlan,
	jobIdOf,
	type PlannedLoad,
	type PlannedTable,
} from "./plan.ts";
import { fieldsOf } from "./schema.ts";

/** Enough to hide BigQuery's latency; each holds a chunk of an upload in memory and a day's file on disk. */
const parallelDays = 4;

/** Carries out a plan on one table. Throws {@link BigQueryRefusal} or {@link JobFailure}. */
export class TableLoad {
	readonly #dataset: BigQueryDataset;
	readonly #input: LoadInput;
	readonly #claim: Claim;
	readonly #context: JobContext;

	/** @param snapshotMs when the manifest's snapshot was taken. */
	constructor(
		dataset: BigQueryDataset,
		input: LoadInput,
		snapshotMs: number,
		context: JobContext,
	) {
		this.#dataset = dataset;
		this.#input = input;
		this.#claim = { runUid: input.run.uid, snapshotMs };
		this.#context = context;
	}

	async carryOut(plan: BigQueryPlan): Promise<void> {
		const { name } = this.#input.table;
		if (plan.table !== "Create") await this.#take();
		await this.#endPredecessors();
		if (plan.table === "Replace") await this.#dataset.deleteTable(name);
		if (plan.table !== "Keep") await this.#createTable();
		const directory = await mkdtemp(join(this.#context.scratch, "bigquery-"));
		const files = await ParquetFiles.open(directory, this.#context.signal);
		try {
			if (plan.staging) await this.#replaceTable(plan.staging, files);
			else await this.#replaceDays(plan, files);
		} finally {
			files.close();
			await rm(directory, { recursive: true, force: true });
		}
	}

	/** Puts this Run's name on the table, unless a Run that looked later has it. */
	async #take(): Promise<void> {
		for (;;) {
			const table = await this.#ourTable();
			if (claimOn(table, this.#claim) === "ours") return;
			const labels = claimLabels(this.#claim);
			const { name } = this.#input.table;
			if (await this.#dataset.patchTable(name, { labels }, table.etag)) return;
		}
	}

	/**
	 * The table as it stands. Looked at before each change: a process that slept past its successor's end finds the other's
	 * name here. Between this look and the next request BigQuery offers no fence.
	 */
	async #ourTable(): Promise<Table> {
		const { name } = this.#input.table;
		const table = await this.#dataset.findTable(name);
		if (!table)
			throw new JobFailure(
				"BigQueryUnavailable",
				`Table ${name} was deleted while it was loaded`,
			);
		if (claimOn(table, this.#claim) === "theirs")
			throw new JobFailure(
				"Superseded",
				`Table ${name} has the data of Run uid ${table.labels?.[label.run]}, which looked later`,
			);
		return table;
	}

	/** Jobs that an earlier Run left would otherwise replace days after this one has. */
	async #endPredecessors(): Promise<void> {
		const jobs = (await this.#dataset.unfinishedJobs()).filter(
			({ configuration: { labels = {} } }) =>
				labels[label.table] === this.#jobLabels()[label.table] &&
				labels[label.run] !== this.#claim.runUid,
		);
		for (const { jobReference } of jobs) {
			const { jobId } = jobReference;
			this.#context.log.info({ jobId }, "cancelling an earlier Run's job");
			await this.#dataset.cancelJob(jobId);
		}
		for (const { jobReference } of jobs)
			await untilEnded(
				() => this.#dataset.findJob(jobReference.jobId),
				this.#context.signal,
			);
	}

	async #createTable(): Promise<void> {
		const { name, columns, description } = this.#input.table;
		const date = columns.find(({ from }) => from === "Date")?.name;
		await this.#dataset.createTable(name, {
			description,
			labels: claimLabels(this.#claim),
			schema: { fields: fieldsOf(columns) },
			...(date !== undefined && {
				timePartitioning: { type: "DAY", field: date },
			}),
		});
		await this.#take();
	}

	async #replaceDays(
		{ days, emptyDays }: BigQueryPlan,
		files: ParquetFiles,
	): Promise<void> {
		let progress = progressOf(days, 0);
		this.#say(progress);
		const replace = days.map((day) => async () => {
			const { creationTime } = await this.#ourTable();
			await this.#load(day, Number(creationTime), files);
			progress = {
				...progress,
				daysDone: progress.daysDone + 1,
				rowsDone: progress.rowsDone + day.rows,
			};
			this.#say(progress);
		});
		const empty = emptyDays.map((partition) => async () => {
			await this.#ourTable();
			await this.#dataset.deleteTable(partition);
		});
		await inParallel([...replace, ...empty], parallelDays);
	}

	async #replaceTable(
		staging: PlannedTable,
		files: ParquetFiles,
	): Promise<void> {
		this.#say(progressOf(staging.days, 0));
		const { name, columns, description } = this.#input.table;
		const labels = claimLabels(this.#claim);
		const { creationTime } = await this.#dataset.createTable(staging.table, {
			description: `A Run's data on its way into ${name}`,
			labels,
			schema: { fields: fieldsOf(columns) },
			// What a Run that is never taken up leaves behind goes by itself.
			expirationTime: String(Date.now() + dayMs),
		});
		const { rows } = staging;
		const stagedMs = Number(creationTime);
		if (rows > 0) await this.#load(staging, stagedMs, files);
		const table = await this.#ourTable();
		const sinceMs = Math.max(stagedMs, Number(table.creationTime));
		await this.#complete("copy", sinceMs, (jobId) =>
			this.#dataset.startJob(jobId, {
				labels: this.#jobLabels(),
				copy: {
					sourceTable: this.#dataset.reference(staging.table),
					destinationTable: this.#dataset.reference(name),
					writeDisposition: "WRITE_TRUNCATE",
					createDisposition: "CREATE_NEVER",
				},
			}),
		);
		// The copy may have taken the staging table's words along.
		await this.#dataset.patchTable(name, { description, labels });
		await this.#dataset.deleteTable(staging.table);
		this.#say(progressOf(staging.days, rows));
	}

	#say(progress: LoadProgress): void {
		this.#context.log.info(progress, "loading days");
	}

	async #load(
		load: PlannedLoad,
		tableCreatedMs: number,
		files: ParquetFiles,
	): Promise<void> {
		const { columns } = this.#input.table;
		const configuration: Job["configuration"] = {
			labels: this.#jobLabels(),
			load: {
				destinationTable: this.#dataset.reference(load.table),
				sourceFormat: "PARQUET",
				writeDisposition: "WRITE_TRUNCATE",
				createDisposition: "CREATE_NEVER",
				...(load.table.includes("$") && {
					schemaUpdateOptions: ["ALLOW_FIELD_ADDITION"],
				}),
			},
		};
		const beforeStart = async () => {
			await this.#ourTable();
		};
		const job = await this.#complete(load.name, tableCreatedMs, (jobId) =>
			files.with(load, columns, (file) =>
				this.#dataset.startJob(jobId, configuration, { file, beforeStart }),
			),
		);
		const rows = Number(job.statistics?.load?.outputRows);
		if (rows !== load.rows)
			throw new JobFailure(
				"RowsDiffer",
				`BigQuery has put ${rows} rows into ${load.table} where ${load.rows} were sent`,
			);
	}

	/** @param tableCreatedMs jobs from before don't count. */
	#complete(
		name: string,
		tableCreatedMs: number,
		start: (jobId: string) => Promise<Job>,
	): Promise<Job> {
		return completeJob(
			{ find: (jobId) => this.#dataset.findJob(jobId), start },
			(attempt) => jobIdOf(this.#claim.runUid, name, attempt),
			tableCreatedMs,
			this.#context.signal,
		);
	}

	#jobLabels() {
		const { run, table, destination } = this.#input;
		const dataset = destination.type === "BigQuery" ? destination.dataset : "";
		return {
			[label.run]: run.uid,
			[label.table]: tableDigest(dataset, table.name),
		};
	}
}

/** Runs all, some at a time; after the first error no other is begun, and those under way are waited for. */
async function inParallel(
	tasks: (() => Promise<void>)[],
	atATime: number,
): Promise<void> {
	const left = tasks.values();
	let failure: { error: unknown } | undefined;
	const worker = async () => {
		for (const task of left) {
			if (failure) return;
			await task().catch((error) => {
				failure ??= { error };
			});
		}
	};
	await Promise.all(Array.from({ length: atATime }, worker));
	if (failure) throw failure.error;
}
