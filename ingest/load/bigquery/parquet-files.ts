import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { TableColumn } from "../../../contracts/job.ts";
import { boundedMemory } from "../../duckdb/memory.ts";
import { quoteName, quoteText } from "../../duckdb/quoting.ts";
import { Session } from "../../duckdb/session.ts";
import { JobFailure } from "../../job/errors.ts";
import { eventRows } from "../body/body-value.ts";
import { columnSql } from "../destination/columns.ts";
import type { PlannedLoad } from "./plan.ts";

/**
 * Each thread holds a row group in memory until it is full. For bodies of 500 bytes the process takes at most 396 MB with
 * this, and 598 MB with DuckDB's default of 122,880 (measured).
 */
const rowGroupRows = 20_480;

/** Turns objects into the Parquet files that BigQuery loads, with only the table's columns. */
export class ParquetFiles {
	readonly #session: Session;
	readonly #directory: string;
	/** Files are written one at a time: each may use all of the memory. */
	#turn: Promise<unknown> = Promise.resolve();

	static async open(
		directory: string,
		signal: AbortSignal,
	): Promise<ParquetFiles> {
		const session = await Session.inMemory(boundedMemory(directory), signal);
		return new ParquetFiles(session, directory);
	}

	private constructor(session: Session, directory: string) {
		this.#session = session;
		this.#directory = directory;
	}

	/**
	 * Writes the file of one load, hands it to `use`, then deletes it.
	 * Throws {@link JobFailure} ObjectMismatch if it has other rows than planned.
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
		const selected = columns.map((column) => {
			const { name, type, expression } = columnSql(column, columns);
			// A file would say that the text is JSON, and BigQuery loads no JSON from Parquet.
			const value = type === "JSON" ? `(${expression})::VARCHAR` : expression;
			return `${value} AS ${quoteName(name)}`;
		});
		const written = await this.#session.run(
			`COPY (SELECT ${selected.join(", ")} FROM ${eventRows(files, columns)})` +
				` TO ${quoteText(file)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${rowGroupRows})`,
		);
		if (written !== rows)
			throw new JobFailure(
				"ObjectMismatch",
				`The objects of ${name} gave ${written} rows, but the manifest says ${rows}`,
			);
	}
}
