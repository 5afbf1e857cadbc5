import { rm } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { mapConcurrently } from "../../../fair/fair-limit.ts";
import { JobFailure } from "../../load/failure.ts";
import { type LoadDay, rowsOf } from "../../load/load-day.ts";
import {
	progressOf,
	type TableLoad,
	type TableWork,
} from "../../load/load-table.ts";
import { markAfter, markDuring, pipelineOf } from "../../load/table-mark.ts";
import { largestValues } from "../../load/value-counts.ts";
import type { WarehouseContext } from "../../load/warehouse.ts";
import type { BigQueryInput } from "../definition.ts";
import type { BigQueryDataset } from "./dataset.ts";
import { OwnedTable } from "./owned-table.ts";
import {
	type BigQueryPlan,
	isJobOf,
	isPartition,
	jobIdOf,
	type PlannedLoad,
	planBigQuery,
	type ViewChanges,
	viewChanges,
} from "./plan.ts";
import {
	type BigQueryField,
	type BigQueryJob,
	type BigQueryTable,
	GoogleRefusal,
} from "./rest/google-refusal.ts";
import {
	describedFields,
	fieldsOf,
	label,
	labelsOf,
	tableDigest,
} from "./schema.ts";
import { lostWith, newTable, taggedColumns } from "./table-options.ts";
import {
	completeJob,
	isOfJson,
	untilEnded,
	writeUpload,
} from "./upload-file.ts";

/** Enough to hide BigQuery's latency. Each holds an upload's chunk in memory and its day's Parquet file on disk. */
const parallelDays = 4;

interface Planned extends BigQueryPlan {
	view: ViewChanges;
	words: string | undefined;
}

/** Loads one table. Throws {@link GoogleRefusal} or {@link JobFailure}. */
export class BigQueryLoad implements TableLoad<Planned> {
	readonly #work: TableWork;
	readonly #dataset: BigQueryDataset;
	readonly #context: WarehouseContext;
	readonly #table: OwnedTable;
	/** As it was when it got its columns. */
	#prepared: BigQueryTable | undefined;
	/** As it is afterwards. */
	loaded: BigQueryTable | undefined;

	constructor(
		dataset: BigQueryDataset,
		work: TableWork,
		context: WarehouseContext,
	) {
		this.#work = work;
		this.#dataset = dataset;
		this.#context = context;
		this.#table = new OwnedTable(dataset, work.input, work.manifest, context);
	}

	async plan(): Promise<Planned> {
		await this.#dataset.ensure();
		const { input, manifest } = this.#work;
		const existing = await this.#table.find();
		const plan = planBigQuery(input, manifest, this.#work.days, existing);
		const view = await viewChanges(
			input,
			this.#dataset,
			plan.table === "Replace" ? existing : undefined,
		);
		return { ...plan, view, words: view.words };
	}

	async prepare(plan: Planned): Promise<void> {
		const { view } = plan;
		const { name } = this.#work.input.table;
		if (plan.table === "Replace") {
			// The table's rows go before the first day comes, so no object may turn out to be broken after that.
			for (const day of plan.loads.flatMap(({ days }) => days))
				await this.#work.files.with([day], async () => undefined);
			await this.#requireNothingLost();
		}
		if (plan.table === "Keep") await this.#requireTagsKept(plan);
		const found =
			plan.table === "Create"
				? undefined
				: await this.#table.mark(markDuring, plan.table === "Keep");
		await this.#endPredecessors();
		let former: BigQueryTable | undefined;
		if (plan.table === "Replace") {
			former = await this.#table.current();
			await view.before?.();
			this.#context.log.info({ former }, "dropping a table to rebuild it");
			await this.#dataset.deleteTable(name);
		}
		const table =
			found && plan.table === "Keep" ? found : await this.#createTable(former);
		const { newFields } = plan;
		if (newFields.length > 0)
			await this.#dataset.patchTable(name, {
				schema: { fields: [...fieldsIn(table), ...newFields] },
			});
		await view.after?.();
		this.#prepared = table;
	}

	async finish(): Promise<void> {
		await this.#keepFields(this.#prepared!);
		this.loaded = await this.#table.mark(markAfter);
		await this.#deleteFiles((isOurs) => isOurs);
	}

	async count(): Promise<number | undefined> {
		const { numRows } = this.loaded!;
		return numRows === undefined ? undefined : Number(numRows);
	}

	/** Otherwise a job that an earlier Run left could replace a day after this Run has. */
	async #endPredecessors(): Promise<void> {
		const jobs = (await this.#dataset.unfinishedJobs()).filter(
			({ configuration: { labels = {} } }) =>
				labels[label.table] === this.#jobLabels()[label.table] &&
				labels[label.run] !== this.#work.manifest.run,
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
		await this.#deleteFiles((isOurs) => !isOurs);
	}

	/** Of this Run's jobs or others', which have ended: killed and failed loads leave files in the bucket. */
	async #deleteFiles(which: (isOurs: boolean) => boolean): Promise<void> {
		const { run, table } = this.#work.input;
		await this.#dataset.bucket?.deleteFiles(table.name, (jobId) =>
			which(isJobOf(run.uid, jobId)),
		);
	}

	/** Throws {@link JobFailure} TableIncompatible for policy tags that a load into a partition may take away, and nobody could put back. */
	async #requireTagsKept({ loads }: BigQueryPlan): Promise<void> {
		if (!loads.some(({ table }) => isPartition(table))) return;
		const { name } = this.#work.input.table;
		const tagged = taggedColumns(await this.#table.current());
		const permission = "bigquery.tables.setCategory";
		if (tagged.length === 0 || (await this.#dataset.may(permission, name)))
			return;
		throw new JobFailure(
			"TableIncompatible",
			`Table ${name} has policy tags on ${tagged.join(", ")}. A load into a partition may take them away, and the account may not put them back. Nothing was changed. Grant it ${permission} on the table, and start a Run`,
		);
	}

	/** Throws {@link JobFailure} TableIncompatible for what a rebuilt table would lack and people must decide about. */
	async #requireNothingLost(): Promise<void> {
		const { name } = this.#work.input.table;
		const table = await this.#table.current();
		const lost = [
			...(table.type === "VIEW" ? [] : await this.#dataset.accessOf(name)),
			...lostWith(table, this.#work.input),
		];
		if (lost.length > 0)
			throw new JobFailure(
				"TableIncompatible",
				`Table ${name} must be dropped to be rebuilt, and would lose ${lost.join(", ")}. Nothing was changed. Remove these from the table, or drop it yourself, and start a Run`,
			);
	}

	/** @param former the table that it replaces. */
	async #createTable(former?: BigQueryTable): Promise<BigQueryTable> {
		const { name, columns } = this.#work.input.table;
		const wanted = newTable(this.#work.input, former);
		const fields = describedFields(wanted, columns) ?? fieldsIn(wanted);
		const table = await this.#dataset.createTable(name, {
			...wanted,
			schema: { fields },
			labels: { ...wanted.labels, ...this.#labels() },
		});
		await this.#table.mark(markDuring);
		return table;
	}

	/** A table's while the load writes to it. */
	#labels() {
		const pipeline = pipelineOf(this.#work.input);
		return labelsOf(markDuring(undefined, this.#work.manifest, pipeline));
	}

	async publish({ loads, emptyDays }: Planned): Promise<void> {
		const replace = this.#loads(loads);
		const empty = emptyDays.map((partition) => async () => {
			await this.#table.current();
			await this.#dataset.deleteTable(partition);
		});
		await mapConcurrently([...replace, ...empty], parallelDays, (each) =>
			each(),
		);
	}

	/**
	 * A load into a partition may leave the table's columns without what people set on them, such as policy tags
	 * (cloud.google.com/bigquery/docs/reference/auditlogs/rest/Shared.Types/BigQueryAuditMetadata.WriteDisposition).
	 */
	async #keepFields(before: BigQueryTable): Promise<void> {
		const fields = fieldsIn(await this.#table.current());
		const kept = fields.map((field) => ({
			...field,
			...fieldsIn(before).find(({ name }) => name === field.name),
		}));
		if (!isDeepStrictEqual(kept, fields))
			await this.#dataset.patchTable(this.#work.input.table.name, {
				schema: { fields: kept },
			});
	}

	#loads(loads: PlannedLoad[]): (() => Promise<void>)[] {
		let progress = progressOf(
			loads.flatMap(({ days }) => days),
			0,
		);
		const say = () => this.#context.log.info(progress, "loading days");
		say();
		return loads.map((load) => async () => {
			const { creationTime } = await this.#table.current();
			await this.#load(load, Number(creationTime));
			progress = {
				...progress,
				daysDone: progress.daysDone + load.days.length,
				rowsDone: progress.rowsDone + rowsOf(load.days),
			};
			say();
		});
	}

	async #load(load: PlannedLoad, tableCreatedMs: number): Promise<void> {
		const { table } = this.#work.input;
		const { name } = table;
		const wanted = rowsOf(load.days);
		const isJson = isOfJson(table, load.days);
		const configuration: BigQueryJob["configuration"] & { load: object } = {
			labels: this.#jobLabels(),
			load: {
				destinationTable: this.#dataset.reference(load.table),
				sourceFormat: isJson ? "NEWLINE_DELIMITED_JSON" : "PARQUET",
				// With WRITE_TRUNCATE, a whole table loses its columns' descriptions and policy tags, and its row access policies
				// (the page at keepFields). That WRITE_TRUNCATE_DATA takes a partition, no page says.
				writeDisposition: isPartition(load.table)
					? "WRITE_TRUNCATE"
					: "WRITE_TRUNCATE_DATA",
				createDisposition: "CREATE_NEVER",
				// Without it, a decimal of Parquet is always a NUMERIC (reference of JobConfigurationLoad).
				...(!isJson &&
					fieldsOf(table).some(({ type }) => type === "BIGNUMERIC") && {
						decimalTargetTypes: ["NUMERIC", "BIGNUMERIC"],
					}),
				...this.#dataset.jobEncryption(),
			},
		};
		const beforeStart = async () => {
			await this.#table.current();
		};
		const file = join(this.#work.files.directory, `${load.name}.upload`);
		const start = async (jobId: string) => {
			try {
				await this.#work.files.with(load.days, async (days, session) => {
					await writeUpload(days, wanted, table, file, session);
				});
				const source = { file, beforeStart };
				return await this.#dataset.startLoad(
					name,
					jobId,
					configuration,
					source,
				);
			} finally {
				await rm(file, { force: true });
			}
		};
		const job = await this.#complete(load.name, tableCreatedMs, start).catch(
			(error) => this.#withLargest(error, load.days),
		);
		const { jobId } = job.jobReference;
		await this.#dataset.bucket?.deleteFiles(name, (id) => id === jobId);
		const rows = Number(job.statistics?.load?.outputRows);
		if (rows !== wanted)
			throw new JobFailure(
				"RowsDiffer",
				`BigQuery put ${rows} rows into ${load.table}, but ${wanted} were sent`,
			);
	}

	/** A refusal for the size of a row or a value names those that may be meant. */
	async #withLargest(error: unknown, days: LoadDay[]): Promise<never> {
		if (!(error instanceof GoogleRefusal) || !error.isOfSize) throw error;
		const { columns } = this.#work.input.table;
		const words = await this.#work.files.with(days, (found, session) =>
			largestValues(found, columns, session),
		);
		throw error.with(words);
	}

	/** @param tableCreatedMs earlier jobs wrote to a former table, and don't count. */
	#complete(
		name: string,
		tableCreatedMs: number,
		start: (jobId: string) => Promise<BigQueryJob>,
	): Promise<BigQueryJob> {
		const { name: table } = this.#work.input.table;
		return completeJob(
			{ find: (jobId) => this.#dataset.findJob(jobId), start },
			(attempt) => jobIdOf(this.#work.manifest, table, name, attempt),
			tableCreatedMs,
			this.#context.signal,
		);
	}

	#jobLabels() {
		const { run, table, destination } = this.#work.input;
		const { dataset } = destination as BigQueryInput;
		return {
			[label.run]: run.uid,
			[label.table]: tableDigest(dataset, table.name),
		};
	}
}

function fieldsIn({ schema }: Pick<BigQueryTable, "schema">): BigQueryField[] {
	return schema?.fields ?? [];
}
