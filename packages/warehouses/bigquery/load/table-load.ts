import { rm } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { LoadInput } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import { passingParquet, widePassingParquet } from "../../../duckdb/memory.ts";
import { quoteName, quoteText } from "../../../duckdb/quoting.ts";
import type { Session } from "../../../duckdb/session.ts";
import { mapConcurrently } from "../../../fair/fair-limit.ts";
import { defineBodyValues } from "../../load/body-values.ts";
import {
	areWide,
	columnSql,
	eventRows,
	limitWriters,
	type SizedFile,
} from "../../load/columns.ts";
import { JobFailure } from "../../load/failure.ts";
import { largestValues } from "../../load/largest-values.ts";
import { type LoadDay, rowsOf, type UnfitRows } from "../../load/load-day.ts";
import { progressOf } from "../../load/progress.ts";
import { markAfter, markDuring, pipelineOf } from "../../load/table-mark.ts";
import type { DayFiles, WarehouseContext } from "../../load/warehouse.ts";
import type { BigQueryInput } from "../input.ts";
import type { BigQueryDataset } from "./dataset.ts";
import { unfitBodies, writeJsonRows } from "./json-rows.ts";
import type { ViewChanges } from "./latest-view.ts";
import { completeJob, untilEnded } from "./load-job.ts";
import type { OwnedTable } from "./owned-table.ts";
import {
	type BigQueryPlan,
	isJobOf,
	isPartition,
	jobIdOf,
	type PlannedLoad,
} from "./plan.ts";
import type { BigQueryField, BigQueryJob, BigQueryTable } from "./rest/api.ts";
import { GoogleRefusal } from "./rest/google-refusal.ts";
import { describedFields, fieldsOf, isJson } from "./schema.ts";
import { label, labelsOf, tableDigest } from "./table-labels.ts";
import { lostWith, newTable, taggedColumns } from "./table-options.ts";

/** Enough to hide BigQuery's latency. Each holds an upload's chunk in memory and its day's Parquet file on disk. */
const parallelDays = 4;

/** What a Run puts into one table. */
interface Work {
	input: LoadInput;
	manifest: Manifest;
	/** Gets the plan's days. */
	files: DayFiles;
}

/** Carries out a plan on one table. Throws {@link GoogleRefusal} or {@link JobFailure}. */
export class BigQueryLoad {
	readonly #dataset: BigQueryDataset;
	readonly #input: LoadInput;
	readonly #manifest: Manifest;
	readonly #files: DayFiles;
	readonly #context: WarehouseContext;
	readonly #table: OwnedTable;

	constructor(
		dataset: BigQueryDataset,
		table: OwnedTable,
		{ input, manifest, files }: Work,
		context: WarehouseContext,
	) {
		this.#dataset = dataset;
		this.#input = input;
		this.#manifest = manifest;
		this.#files = files;
		this.#context = context;
		this.#table = table;
	}

	/**
	 * Returns the table as it is afterwards.
	 * @param view Its changes, just before another table takes this one's place and as soon as the table has its columns.
	 */
	async carryOut(
		plan: BigQueryPlan,
		view: ViewChanges = {},
	): Promise<BigQueryTable> {
		const { name } = this.#input.table;
		if (plan.table === "Replace") {
			// The table's rows go before the first day comes, so no object may turn out to be broken after that.
			for (const day of plan.loads.flatMap(({ days }) => days))
				await this.#files.with([day], async () => undefined);
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
		await this.#replace(plan);
		await this.#keepFields(table);
		const loaded = await this.#table.mark(markAfter);
		await this.#deleteFiles((isOurs) => isOurs);
		return loaded;
	}

	/** Otherwise a job that an earlier Run left could replace a day after this Run has. */
	async #endPredecessors(): Promise<void> {
		const jobs = (await this.#dataset.unfinishedJobs()).filter(
			({ configuration: { labels = {} } }) =>
				labels[label.table] === this.#jobLabels()[label.table] &&
				labels[label.run] !== this.#manifest.run,
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
		const { run, table } = this.#input;
		await this.#dataset.bucket?.deleteFiles(table.name, (jobId) =>
			which(isJobOf(run.uid, jobId)),
		);
	}

	/** Throws {@link JobFailure} TableIncompatible for policy tags that a load into a partition may take away, and nobody could put back. */
	async #requireTagsKept({ loads }: BigQueryPlan): Promise<void> {
		if (!loads.some(({ table }) => isPartition(table))) return;
		const { name } = this.#input.table;
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
		const { name } = this.#input.table;
		const table = await this.#table.current();
		const lost = [
			...(table.type === "VIEW" ? [] : await this.#dataset.accessOf(name)),
			...lostWith(table, this.#input),
		];
		if (lost.length > 0)
			throw new JobFailure(
				"TableIncompatible",
				`Table ${name} must be dropped to be rebuilt, and would lose ${lost.join(", ")}. Nothing was changed. Remove these from the table, or drop it yourself, and start a Run`,
			);
	}

	/** @param former the table that it replaces. */
	async #createTable(former?: BigQueryTable): Promise<BigQueryTable> {
		const { name, columns } = this.#input.table;
		const wanted = newTable(this.#input, former);
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
		const pipeline = pipelineOf(this.#input);
		return labelsOf(markDuring(undefined, this.#manifest, pipeline));
	}

	async #replace({ loads, emptyDays }: BigQueryPlan): Promise<void> {
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
			await this.#dataset.patchTable(this.#input.table.name, {
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
		const { table } = this.#input;
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
		const file = join(this.#files.directory, `${load.name}.upload`);
		// Of each day, from the last time that its objects were read: several jobs may be tried.
		let unfit: UnfitRows[] | undefined = isJson ? undefined : [];
		const count = async (found: LoadDay[], session: Session) => {
			const counts: UnfitRows[] = [];
			for (const day of found)
				counts.push(await unfitBodies(day.objects, table, session));
			unfit = counts;
		};
		const start = async (jobId: string) => {
			try {
				await this.#files.with(load.days, async (days, session) => {
					await writeUpload(days, wanted, table, file, session);
					if (isJson) await count(days, session);
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
		// An earlier attempt's job has the rows, but doesn't say which values they lack.
		if (!unfit) await this.#files.with(load.days, count);
		for (const [index, day] of load.days.entries()) {
			if (this.#files.unfitOf(day) === undefined)
				await this.#files.with([day], async () => undefined);
			this.#files.addUnfit(day, unfit?.[index] ?? {});
		}
	}

	/** A refusal for the size of a row or a value names those that may be meant. */
	async #withLargest(error: unknown, days: LoadDay[]): Promise<never> {
		if (!(error instanceof GoogleRefusal) || !error.isOfSize) throw error;
		const { columns } = this.#input.table;
		const words = await this.#files.with(days, (found, session) =>
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
		const { name: table } = this.#input.table;
		return completeJob(
			{ find: (jobId) => this.#dataset.findJob(jobId), start },
			(attempt) => jobIdOf(this.#manifest, table, name, attempt),
			tableCreatedMs,
			this.#context.signal,
		);
	}

	#jobLabels() {
		const { run, table, destination } = this.#input;
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

/**
 * Writes the file that BigQuery loads, of rows in JSON if a column is and of Parquet otherwise, from days' objects on disk and with only the table's columns.
 * Throws {@link JobFailure} ObjectMismatch if it has other rows than planned.
 */
async function writeUpload(
	days: LoadDay[],
	rows: number,
	table: LoadInput["table"],
	file: string,
	session: Session,
): Promise<void> {
	const files = days.flatMap(({ objects }) => objects);
	await limitWriters(session, files, table.columns);
	const written = await (isOfJson(table, days)
		? writeJsonRows(files, table, file, session)
		: writeParquet(files, table, file, session));
	if (written !== rows)
		throw new JobFailure(
			"ObjectMismatch",
			`The objects of ${days.map(({ date }) => date).join(", ")} gave ${written} rows, but the manifest says ${rows}`,
		);
}

/** Whether the rows are uploaded as JSON. No rows are none of JSON, either. */
function isOfJson(table: LoadInput["table"], days: readonly LoadDay[]) {
	return days.length > 0 && fieldsOf(table).some(({ type }) => type === "JSON");
}

function writeParquet(
	files: readonly SizedFile[],
	{ columns, options }: LoadInput["table"],
	file: string,
	session: Session,
): Promise<number> {
	const isEmpty = files.length === 0;
	// A column of JSON is here only if there are no rows.
	const stored = columns.filter((column) => !isJson(column, options));
	const selected = stored.map((column) => {
		const { name, type, expression } = columnSql(column, columns);
		// A file would say that the text is JSON, and BigQuery loads no JSON from Parquet.
		const storedType = type === "JSON" ? "VARCHAR" : type;
		const value = isEmpty ? "NULL" : `(${expression})`;
		return `${value}::${storedType} AS ${quoteName(name)}`;
	});
	defineBodyValues(session);
	return session.run(
		`COPY (SELECT ${selected.join(", ")} ${isEmpty ? "WHERE false" : `FROM ${eventRows(files, columns)}`})` +
			` TO ${quoteText(file)} (${areWide(columns) ? widePassingParquet : passingParquet})`,
	);
}
