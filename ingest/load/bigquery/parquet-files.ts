import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { TableColumn } from "../../../contracts/job.ts";
import { openDatabase } from "../../duckdb/database.ts";
import { boundedMemory } from "../../duckdb/memory.ts";
import { quoteName, quoteText } from "../../duckdb/quoting.ts";
import { Session } from "../../duckdb/session.ts";
import { columnSql } from "../columns.ts";
import { JobFailure } from "../errors.ts";
import { objectRows } from "../fetch/object-rows.ts";
import type { PlannedLoad } from "./plan.ts";

/**
 * A group is held in memory until it is full, by each thread. Measured for bodies of 500 bytes: 396 MB at most, where
 * DuckDB's own 122,880 take 598.
 */
const rowGroupRows = 20_480;

/** Writes objects as the Parquet files that BigQuery loads: the table's columns, and nothing else. */
export class ParquetFiles {
	readonly #session: Session;
	readonly #directory: string;
	/** One at a time: each has all of the memory. */
	#turn: Promise<unknown> = Promise.resolve();

	static async open(
		directory: string,
		signal: AbortSignal,
	): Promise<ParquetFiles> {
		const instance = await openDatabase({
			file: ":memory:",
			waitMs: 0,
			config: boundedMemory(directory),
		});
		return new ParquetFiles(await Session.open(instance, signal), directory);
	}

	private constructor(session: Session, directory: string) {
		this.#session = session;
		this.#directory = directory;
	}

	/**
	 * Writes the file of one load and hands it to `use`, then deletes it.
	 * Throws {@link JobFailure} ObjectMismatch when it has other rows than planned.
	 */
	async with<T>(
		load: PlannedLoad,
		columns: TableColumn[],
		use: (file: string) => Promise<T>,
	): Promise<T> {
		const file = join(this.#directory, `${load.name}.upload.parquet`);
		try {
			const written = this.#turn.then(() => this.#write(load, columns, file));
			this.#turn = written.catch(() => undefined);
			await written;
			return await use(file);
		} finally {
			await rm(file, { force: true });
		}
	}

	close(): void {
		this.#session.close();
	}

	async #write(
		{ name, rows, files }: PlannedLoad,
		columns: TableColumn[],
		file: string,
	): Promise<void> {
		const selected = columns
			.map(columnSql)
			.map(({ name, expression }) => `${expression} AS ${quoteName(name)}`);
		const written = await this.#session.run(
			`COPY (SELECT ${selected.join(", ")} FROM ${objectRows(files)})` +
				` TO ${quoteText(file)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${rowGroupRows})`,
		);
		if (written !== rows)
			throw new JobFailure(
				"ObjectMismatch",
				`The objects of ${name} gave ${written} rows where the manifest says ${rows}`,
			);
	}
}
