import { createHash, randomUUID } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { LoadInput } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import type { Session } from "../../../duckdb/session.ts";
import { mapConcurrently } from "../../../fair/fair-limit.ts";
import type { LoadDay } from "../../load/load-day.ts";
import { loadTable } from "../../load/load-table.ts";
import { ownerOf } from "../../load/table-mark.ts";
import type { TableTypes } from "../../load/table-plan.ts";
import type { UnheldValues } from "../../load/value-counts.ts";
import {
	type DayFiles,
	type RowAccess,
	type RowDialect,
	statementSql,
	type Warehouse,
	type WarehouseContext,
	type WarehouseModule,
} from "../../load/warehouse.ts";
import type { BigQueryInput, BigQueryTableOptions } from "../definition.ts";
import { BigQueryDataset } from "./dataset.ts";
import { bigQueryUse, jobIdOf, partitionOf } from "./plan.ts";
import {
	BigQueryFailure,
	type BigQueryJob,
	GoogleRefusal,
	type WriteDisposition,
} from "./rest/google-refusal.ts";
import { ConnectionFailed } from "./rest/rest-client.ts";
import {
	existingColumns,
	markedTable,
	markOf,
	wantedColumns,
} from "./schema.ts";
import { BigQueryLoad } from "./table-load.ts";
import { defaultExpiration, tableExpiration } from "./table-options.ts";
import { completeJob, unheldBodies } from "./upload-file.ts";

const dialect: Omit<RowDialect, "table"> = {
	name: (name) => `\`${name}\``,
	// Of GoogleSQL: its escapes are among JSON's (cloud.google.com/bigquery/docs/reference/standard-sql/lexical#escape_sequences).
	text: (text) => JSON.stringify(text),
	date: (date) => `DATE "${date}"`,
	bodyText: (body, type) =>
		type === "JSON" ? `TO_JSON_STRING(${body})` : body,
	// Each body that leaves BigQuery takes its time, and few have the value.
	textHas: (text, pattern) =>
		`REGEXP_CONTAINS(${text}, ${JSON.stringify(pattern)})`,
	bodyDigest: (text) => `TO_HEX(SHA256(${text}))`,
	blankBody: (type) => (type === "JSON" ? `JSON "null"` : `"null"`),
};

/**
 * A BigQuery dataset. One load job replaces each day's partition, or a whole table. Job ids are
 * deterministic, so a load that follows a killed one finds the jobs that are done.
 */
class BigQueryWarehouse implements Warehouse {
	readonly #dataset: BigQueryDataset;
	readonly #context: WarehouseContext;
	warning: string | undefined;

	constructor(dataset: BigQueryDataset, context: WarehouseContext) {
		this.#dataset = dataset;
		this.#context = context;
	}

	async requireUsable(input: LoadInput, manifest: Manifest): Promise<void> {
		await withFailures(`read table ${input.table.name}`, async () => {
			await this.#dataset.ensure();
			const existing = await this.#dataset.findTable(input.table.name);
			if (existing) bigQueryUse(input, manifest, existing);
		});
	}

	async typesOf(table: LoadInput["table"]): Promise<TableTypes | undefined> {
		return withFailures(`read table ${table.name}`, async () => {
			await this.#dataset.ensure();
			const existing = await this.#dataset.findTable(table.name);
			return (
				existing && {
					existing: existingColumns(existing),
					wanted: (columns) => wantedColumns({ ...table, columns }),
				}
			);
		});
	}

	unheld(table: LoadInput["table"], session: Session): UnheldValues[] {
		return unheldBodies(table, session);
	}

	async load(
		input: LoadInput,
		manifest: Manifest,
		days: LoadDay[],
		files: DayFiles,
	): Promise<number | undefined> {
		return withFailures(`load table ${input.table.name}`, async () => {
			const { name } = input.table;
			const { log } = this.#context;
			const work = { input, manifest, days, files };
			const load = new BigQueryLoad(this.#dataset, work, this.#context);
			const { rows, words } = await loadTable(load, name, log);
			this.warning ??= words;
			const { partitionExpirationDays }: BigQueryTableOptions =
				input.table.options ?? {};
			const found = tableExpiration(load.loaded!, partitionExpirationDays);
			if (found) log.warn({ table: name }, found);
			this.warning ??= found;
			return rows;
		});
	}

	rowAccess(input: Pick<LoadInput, "run">, manifest: Manifest): RowAccess {
		const table = (name: string) => {
			const { projectId, datasetId } = this.#dataset.reference(name);
			return `\`${projectId}.${datasetId}.${name}\``;
		};
		/** @param key of the job: what changes rows is one job, however often an attempt asks; what counts them is a new one each time. */
		const ask = (
			name: string,
			query: string,
			key: string = randomUUID().replaceAll("-", ""),
		) => {
			const configuration = { query: { query, useLegacySql: false as const } };
			return completeJob(
				{
					find: (jobId) => this.#dataset.findJob(jobId),
					start: (jobId) => this.#dataset.startJob(jobId, configuration),
				},
				(attempt) => jobIdOf(manifest, name, key.slice(0, 16), attempt),
				0,
				this.#context.signal,
			);
		};
		const count = (name: string, condition: string) =>
			withFailures(`count rows of table ${name}`, async () => {
				const query = `SELECT COUNT(*) FROM ${table(name)} WHERE ${condition}`;
				const { jobReference } = await ask(name, query);
				const rows = this.#dataset.resultOf(jobReference.jobId);
				const [[count = null] = []] = await Array.fromAsync(rows);
				return Number(count);
			});
		return {
			dialect: { ...dialect, table },
			tables: ({ removesLeft } = {}) =>
				withFailures("list the dataset's tables", async () => {
					await this.#dataset.ensure();
					const marked = (await this.#dataset.labelledTables()).filter(
						(table) => ownerOf(markOf(table), input, manifest) === "Ours",
					);
					const names = marked.map(
						({ tableReference: { tableId } }) => tableId,
					);
					const found = await mapConcurrently(
						names.toSorted(),
						8,
						async (name) => {
							// Files of killed loads hold events, and a table that none loads has no next one that deletes them.
							if (removesLeft)
								await this.#dataset.bucket?.deleteFiles(name, () => true);
							return this.#dataset.findTable(name);
						},
					);
					return found.flatMap((table) => (table ? [markedTable(table)] : []));
				}),
			// A query finds what the account's row access policies let it see, and a DELETE comes only after one.
			requireAllSeen: async ({ name }) => {
				const { numRows } = (await withFailures(`read table ${name}`, () =>
					this.#dataset.findTable(name),
				)) ?? { numRows: "0" };
				const hidden = Number(numRows) - (await count(name, "TRUE"));
				if (hidden > 0)
					throw new BigQueryFailure(
						"RowsHidden",
						`A row access policy hides ${hidden} rows of table ${name} from the service account`,
					);
			},
			count,
			change: (name, statement) =>
				withFailures(`erase rows of table ${name}`, async () => {
					const query = statementSql(table(name), statement);
					const digest = createHash("sha256").update(query).digest("hex");
					const job = await ask(name, query, digest);
					return Number(job.statistics?.query?.numDmlAffectedRows ?? 0);
				}),
			read: (query, pageRows) => this.#read(query, ask, pageRows),
		};
	}

	async *#read(
		query: string,
		ask: (name: string, query: string) => Promise<BigQueryJob>,
		pageRows?: number,
	) {
		const action = "read rows";
		const { jobReference } = await withFailures(action, () =>
			ask("read", query),
		);
		const rows = this.#dataset.resultOf(jobReference.jobId, pageRows);
		for (;;) {
			const next = await withFailures(action, () => rows.next());
			if (next.done) return;
			yield next.value as [string | null, string | null];
		}
	}

	/** Does on a table of its own all that a Run does, and deletes the table: a right that is missing shows here. */
	async check(): Promise<void> {
		const { signal, log } = this.#context;
		const { bucket } = this.#dataset;
		const id = randomUUID().replaceAll("-", "");
		const table = `tidemill_check_${id}`;
		await withFailures("write a table for the check", async () => {
			this.warning = defaultExpiration(await this.#dataset.ensure());
			await this.#dataset.unfinishedJobs();
			const encryption = this.#dataset.encryption();
			const { creationTime } = await this.#dataset.createTable(table, {
				...(encryption && { encryptionConfiguration: encryption }),
				description: "Created by a check of Tidemill, which deletes it",
				schema: { fields: [{ name: "date", type: "DATE" }] },
				timePartitioning: { type: "DAY", field: "date" },
				expirationTime: String(Date.now() + 3_600_000),
			});
			const deleteFiles = () => bucket?.deleteFiles(table, () => true);
			try {
				await this.#tryOut(table, id, Number(creationTime), signal);
				await deleteFiles();
			} catch (error) {
				// The first error is the one to report.
				await deleteFiles()?.catch(({ message }) =>
					log.warn({ reason: message }, "a file stays"),
				);
				throw error;
			} finally {
				await this.#dataset.deleteTable(table);
			}
		});
	}

	/** Changes the table, loads a partition, then the whole table, and deletes the partition. */
	async #tryOut(
		table: string,
		id: string,
		createdMs: number,
		signal: AbortSignal,
	): Promise<void> {
		const now = new Date().toISOString();
		const date = now.slice(0, 10);
		const file = join(this.#context.scratch, `${table}.json`);
		const fields = [
			{ name: "date", type: "DATE" },
			{ name: "written", type: "TIMESTAMP" },
		];
		await this.#dataset.patchTable(table, {
			schema: { fields },
			labels: { "tidemill-check": id },
		});
		const load = (
			name: string,
			to: string,
			writeDisposition: WriteDisposition,
		) =>
			completeJob(
				{
					find: (jobId) => this.#dataset.findJob(jobId),
					start: (jobId) =>
						this.#dataset.startLoad(
							table,
							jobId,
							{
								load: {
									destinationTable: this.#dataset.reference(to),
									sourceFormat: "NEWLINE_DELIMITED_JSON",
									writeDisposition,
									createDisposition: "CREATE_NEVER",
									...this.#dataset.jobEncryption(),
								},
							},
							{ file },
						),
				},
				(attempt) => `tidemill_check_${id}_${name}_${attempt}`,
				createdMs,
				signal,
			);
		try {
			await writeFile(file, `${JSON.stringify({ date, written: now })}\n`);
			const partition = partitionOf(table, date);
			await load("day", partition, "WRITE_TRUNCATE");
			await load("all", table, "WRITE_TRUNCATE_DATA");
			await this.#dataset.deleteTable(partition);
		} finally {
			await rm(file, { force: true });
		}
	}
}

export const open: WarehouseModule["open"] = async (input, context) =>
	new BigQueryWarehouse(
		await BigQueryDataset.open(input as BigQueryInput, context),
		context,
	);

/** Turns BigQuery's refusals into {@link JobFailure}. */
export async function withFailures<T>(
	action: string,
	work: () => Promise<T>,
): Promise<T> {
	try {
		return await work();
	} catch (error) {
		if (error instanceof GoogleRefusal) throw error.toFailure(action);
		if (error instanceof ConnectionFailed)
			throw new BigQueryFailure(
				"BigQueryUnavailable",
				`BigQuery can't be reached: ${error.message}`,
				{ cause: error },
			);
		throw error;
	}
}
