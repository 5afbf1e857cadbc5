import { createHash, randomUUID } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ErasureMatch } from "../../../contracts/archive.ts";
import type { LoadInput } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import type { Session } from "../../../duckdb/session.ts";
import { mapConcurrently } from "../../../fair/fair-limit.ts";
import { pointerParts } from "../../../service/json-pointer.ts";
import {
	type ErasingAccess,
	type ErasingDialect,
	erasingSql,
} from "../../load/erasing-access.ts";
import type { TableTypes } from "../../load/incompatibility.ts";
import type { LoadDay } from "../../load/load-day.ts";
import { ownerOf } from "../../load/table-owner.ts";
import type {
	DayFiles,
	UnheldValues,
	Warehouse,
	WarehouseContext,
	WarehouseModule,
} from "../../load/warehouse.ts";
import type { BigQueryInput, BigQueryTableOptions } from "../input.ts";
import { BigQueryDataset } from "./dataset.ts";
import { defaultExpiration, tableExpiration } from "./expiration.ts";
import { unheldBodies } from "./json-rows.ts";
import { viewChanges } from "./latest-view.ts";
import { completeJob } from "./load-job.ts";
import { OwnedTable } from "./owned-table.ts";
import { bigQueryUse, jobIdOf, partitionOf, planBigQuery } from "./plan.ts";
import type { WriteDisposition } from "./rest/api.ts";
import { BigQueryFailure, GoogleRefusal } from "./rest/google-refusal.ts";
import { ConnectionFailed } from "./rest/rest-client.ts";
import { erasableTable, existingColumns, wantedColumns } from "./schema.ts";
import { markOf } from "./table-labels.ts";
import { BigQueryLoad } from "./table-load.ts";

const quotationMark = JSON.stringify('"');

const dialect: Omit<ErasingDialect, "table"> = {
	name: (name) => `\`${name}\``,
	// Of GoogleSQL: its escapes are among JSON's (cloud.google.com/bigquery/docs/reference/standard-sql/lexical#escape_sequences).
	text: (text) => JSON.stringify(text),
	date: (date) => `DATE "${date}"`,
	bodyHas: (body, match, type) =>
		type === "JSON"
			? jsonHas(body, match)
			: bodyHas(body, match, (json) => json),
	blankBody: (type) => (type === "JSON" ? `JSON "null"` : `"null"`),
};

/** Of a column of the type JSON, where JSON_QUERY gives no text. */
function jsonHas(body: string, match: ErasureMatch): string {
	return bodyHas(body, match, (json) => `TO_JSON_STRING(${json})`);
}

function bodyHas(
	body: string,
	{ bodyPointer, equals }: ErasureMatch,
	textOf: (json: string) => string,
): string {
	// JSON_VALUE gives a number's text, too, and JSON_QUERY tells it from a string.
	const has = (path: string) =>
		`(JSON_VALUE(${body}, ${JSON.stringify(path)}) = ${JSON.stringify(equals)} AND STARTS_WITH(${textOf(`JSON_QUERY(${body}, ${JSON.stringify(path)})`)}, ${quotationMark}))`;
	return `(${jsonPaths(pointerParts(bodyPointer)).map(has).join(" OR ")})`;
}

/** Paths of JSON functions (cloud.google.com/bigquery/docs/reference/standard-sql/json_functions#JSONPath_format): a number may be an index or a name. */
function jsonPaths(parts: readonly string[]): string[] {
	let paths = ["$"];
	for (const part of parts) {
		const steps = [
			`."${part.replace(/[\\"]/g, "\\$&")}"`,
			...(/^(0|[1-9][0-9]*)$/.test(part) ? [`[${part}]`] : []),
		];
		paths = paths.flatMap((path) => steps.map((step) => path + step));
	}
	return paths;
}

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
			const existing = await this.#tableOf(input, manifest).find();
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

	#tableOf(input: LoadInput, manifest: Manifest): OwnedTable {
		return new OwnedTable(this.#dataset, input, manifest, this.#context);
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
			await this.#dataset.ensure();
			const table = this.#tableOf(input, manifest);
			const existing = await table.find();
			const plan = planBigQuery(input, manifest, days, existing);
			const view = await viewChanges(
				input,
				this.#dataset,
				plan.table === "Replace" ? existing : undefined,
			);
			const work = { input, manifest, files };
			const load = new BigQueryLoad(this.#dataset, table, work, this.#context);
			if (view.words !== undefined)
				this.#context.log.warn({ table: input.table.name }, view.words);
			const loaded = await load.carryOut(plan, view);
			this.warning ??= view.words;
			const { partitionExpirationDays }: BigQueryTableOptions =
				input.table.options ?? {};
			const found = tableExpiration(loaded, partitionExpirationDays);
			if (found) this.#context.log.warn({ table: input.table.name }, found);
			this.warning ??= found;
			const { numRows } = loaded;
			return numRows === undefined ? undefined : Number(numRows);
		});
	}

	erasing(input: Pick<LoadInput, "run">, manifest: Manifest): ErasingAccess {
		const table = (name: string) => {
			const { projectId, datasetId } = this.#dataset.reference(name);
			return `\`${projectId}.${datasetId}.${name}\``;
		};
		const ask = (name: string, query: string) => {
			const digest = createHash("sha256").update(query).digest("hex");
			const configuration = { query: { query, useLegacySql: false as const } };
			return completeJob(
				{
					find: (jobId) => this.#dataset.findJob(jobId),
					start: (jobId) => this.#dataset.startJob(jobId, configuration),
				},
				(attempt) => jobIdOf(manifest, name, digest.slice(0, 16), attempt),
				0,
				this.#context.signal,
			);
		};
		return {
			dialect: { ...dialect, table },
			tables: () =>
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
							await this.#dataset.bucket?.deleteFiles(name, () => true);
							return this.#dataset.findTable(name);
						},
					);
					return found.flatMap((table) =>
						table ? [erasableTable(table)] : [],
					);
				}),
			count: (name, condition) =>
				withFailures(`count rows of table ${name}`, async () => {
					const query = `SELECT COUNT(*) FROM ${table(name)} WHERE ${condition}`;
					const { jobReference } = await ask(name, query);
					return Number(await this.#dataset.firstValue(jobReference.jobId));
				}),
			change: (name, statement) =>
				withFailures(`erase rows of table ${name}`, async () => {
					const job = await ask(name, erasingSql(table(name), statement));
					return Number(job.statistics?.query?.numDmlAffectedRows ?? 0);
				}),
		};
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
