import { randomUUID } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { LoadInput } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import type { LoadDay } from "../../load/load-day.ts";
import type {
	DayFiles,
	Warehouse,
	WarehouseContext,
	WarehouseModule,
} from "../../load/warehouse.ts";
import type { BigQueryInput, TableOptions } from "../input.ts";
import { BigQueryDataset } from "./dataset.ts";
import { defaultExpiration, tableExpiration } from "./expiration.ts";
import { completeJob } from "./load-job.ts";
import { OwnedTable } from "./owned-table.ts";
import { bigQueryUse, planBigQuery } from "./plan.ts";
import { BigQueryFailure, GoogleRefusal } from "./rest/google-refusal.ts";
import { ConnectionFailed } from "./rest/rest-client.ts";
import { TableLoad } from "./table-load.ts";

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

	#tableOf(input: LoadInput, manifest: Manifest): OwnedTable {
		return new OwnedTable(this.#dataset, input, manifest, this.#context);
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
			const plan = planBigQuery(input, manifest, days, await table.find());
			const work = { input, manifest, files };
			const load = new TableLoad(this.#dataset, table, work, this.#context);
			const loaded = await load.carryOut(plan);
			const { partitionExpirationDays }: TableOptions =
				input.table.options ?? {};
			const found = tableExpiration(loaded, partitionExpirationDays);
			if (found) this.#context.log.warn({ table: input.table.name }, found);
			this.warning ??= found;
			const { numRows } = loaded;
			return numRows === undefined ? undefined : Number(numRows);
		});
	}

	/** Creates a table, loads a row into it, and deletes it. */
	async check(): Promise<void> {
		const { scratch, signal, log } = this.#context;
		const { bucket } = this.#dataset;
		const id = randomUUID().replaceAll("-", "");
		const table = `tidemill_check_${id}`;
		const file = join(scratch, `${table}.json`);
		await withFailures("write a table for the check", async () => {
			this.warning = defaultExpiration(await this.#dataset.ensure());
			await writeFile(file, `{"written":"${new Date().toISOString()}"}\n`);
			const encryption = this.#dataset.encryption();
			const { creationTime } = await this.#dataset.createTable(table, {
				...(encryption && { encryptionConfiguration: encryption }),
				description: "Created by a check of Tidemill, which deletes it",
				schema: { fields: [{ name: "written", type: "TIMESTAMP" }] },
				expirationTime: String(Date.now() + 3_600_000),
			});
			try {
				await completeJob(
					{
						find: (jobId) => this.#dataset.findJob(jobId),
						start: (jobId) =>
							this.#dataset.startLoad(
								table,
								jobId,
								{
									load: {
										destinationTable: this.#dataset.reference(table),
										sourceFormat: "NEWLINE_DELIMITED_JSON",
										writeDisposition: "WRITE_TRUNCATE",
										createDisposition: "CREATE_NEVER",
										...this.#dataset.jobEncryption(),
									},
								},
								{ file },
							),
					},
					(attempt) => `tidemill_check_${id}_${attempt}`,
					Number(creationTime),
					signal,
				);
				await bucket?.deleteFiles(table, () => true);
			} catch (error) {
				// The first error is the one to report.
				await bucket
					?.deleteFiles(table, () => true)
					.catch(({ message }) =>
						log.warn({ reason: message }, "a file stays"),
					);
				throw error;
			} finally {
				await this.#dataset.deleteTable(table);
				await rm(file, { force: true });
			}
		});
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
