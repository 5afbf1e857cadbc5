import { mkdir, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { isOutOfMemory } from "../../../packages/duckdb/memory.ts";
import { quoteText } from "../../../packages/duckdb/quoting.ts";
import { openDatabase, Session } from "../../../packages/duckdb/session.ts";
import { defineBodyMatch } from "../../../packages/warehouses/load/body-values.ts";
import type { MergeSize } from "./parquet-size.ts";

/** One thread, since cutting comes first. What doesn't fit into memory spills to the scratch folder, up to a limit. */
export const databaseSettings = {
	memory_limit: "160MiB",
	max_temp_directory_size: "1GiB",
	threads: "1",
	preserve_insertion_order: "true",
	// It keeps what was read of files, 75 MiB of a date's. Each file is read twice, and the operating system caches it already.
	enable_external_file_cache: "false",
};

const folderPrefix = "parquet-";
const abandonedMs = 60 * 60_000;

/** Two sets of files with equal contents hold the same events. */
export interface FileContents extends Omit<MergeSize, "objects"> {
	ids: number;
	/** The sum of all rows' hashes, which is independent of their order. */
	hashes: bigint;
	/** When its first and last event were received. */
	fromMs: number;
	toMs: number;
}

export class OutOfMemory extends Error {
	override name = "OutOfMemory";
}

/** What compaction needs of a {@link ParquetRewriter}. */
export type Rewriter = Pick<
	ParquetRewriter,
	"newFile" | "contents" | "merge" | "remove" | "close"
>;

/**
 * Merges Parquet files. It has a folder of its own for files, and removes it when it closes. One call at a time: DuckDB
 * crashes if it is closed during a call.
 */
export class ParquetRewriter {
	readonly #session: Session;
	readonly #directory: string;
	#files = 0;

	private constructor(session: Session, directory: string) {
		this.#session = session;
		this.#directory = directory;
	}

	/** @param signal Aborts the current call. */
	static async open(
		scratch: string,
		signal: AbortSignal,
	): Promise<ParquetRewriter> {
		await mkdir(scratch, { recursive: true });
		await removeAbandoned(scratch);
		const directory = await mkdtemp(join(scratch, folderPrefix));
		const database = await openDatabase({
			file: ":memory:",
			waitMs: 0,
			config: {
				...databaseSettings,
				temp_directory: join(directory, "duckdb"),
			},
		});
		return new ParquetRewriter(await Session.open(database, signal), directory);
	}

	newFile(): string {
		return join(this.#directory, `${this.#files++}.parquet`);
	}

	/** The contents of each file. One query for several files takes a third of the time. */
	async contents(files: readonly string[]): Promise<FileContents[]> {
		const found = await this.#session.rows<
			Record<"file" | keyof FileContents, bigint>
		>(
			`SELECT file_index AS file, count(*) AS rows, count(DISTINCT event_id) AS ids,` +
				` sum(strlen(event_id) + strlen(body) + coalesce(strlen(headers), 0) + coalesce(strlen(violations), 0))::BIGINT AS bytes,` +
				` sum(hash(event_id, timestamp, date, body, kind, headers, violations)::HUGEINT) AS hashes,` +
				` epoch_ms(min(timestamp)) AS "fromMs", epoch_ms(max(timestamp)) AS "toMs"` +
				` FROM ${eventRows(files)} GROUP BY file_index`,
		);
		return files.map((_, index) => {
			const of = found.find(({ file }) => Number(file) === index);
			return {
				rows: Number(of?.rows ?? 0),
				ids: Number(of?.ids ?? 0),
				bytes: Number(of?.bytes ?? 0),
				hashes: BigInt(of?.hashes ?? 0),
				fromMs: Number(of?.fromMs ?? 0),
				toMs: Number(of?.toMs ?? 0),
			};
		});
	}

	/** Writes the rows of the files into a new file, sorted by timestamp and id. Throws {@link OutOfMemory}. */
	async merge(files: readonly string[], rowGroupSize: number): Promise<string> {
		const { file } = await this.write(
			`FROM ${eventRows(files)} ORDER BY timestamp, event_id`,
			rowGroupSize,
		);
		return file;
	}

	/** What a query finds. It may have the function of {@link file://../../../packages/warehouses/load/body-values.ts}. */
	rows<Row extends Record<string, bigint>>(sql: string): Promise<Row[]> {
		defineBodyMatch(this.#session);
		return this.#session.rows<Row>(sql);
	}

	/** Writes the rows of a query, in its order. It may have this function, too. Throws {@link OutOfMemory}. */
	async write(
		query: string,
		rowGroupSize: number,
	): Promise<{ file: string; rows: number }> {
		defineBodyMatch(this.#session);
		const output = this.newFile();
		try {
			const rows = await this.#session.run(
				`COPY (${query})` +
					` TO ${quoteText(output)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${rowGroupSize})`,
			);
			return { file: output, rows };
		} catch (error) {
			await rm(output, { force: true });
			if (!isOutOfMemory(error)) throw error;
			throw new OutOfMemory((error as Error).message, { cause: error });
		}
	}

	/** Removes files; one that is gone is no error. */
	async remove(files: readonly string[]): Promise<void> {
		await Promise.all(files.map((file) => rm(file, { force: true })));
	}

	async close(): Promise<void> {
		this.#session.close();
		await rm(this.#directory, { recursive: true, force: true });
	}
}

/** Removes the folders of killed processes. A live one makes a file every few minutes. */
async function removeAbandoned(scratch: string): Promise<void> {
	for (const name of await readdir(scratch)) {
		if (!name.startsWith(folderPrefix)) continue;
		const directory = join(scratch, name);
		if (await isAbandoned(directory))
			await rm(directory, { recursive: true, force: true });
	}
}

async function isAbandoned(directory: string): Promise<boolean> {
	try {
		const { mtimeMs } = await stat(directory);
		return Date.now() - mtimeMs > abandonedMs;
	} catch (error) {
		// A live one closed meanwhile.
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
		throw error;
	}
}

/** Matches columns by name, since a later version of archive may add columns. */
export function eventRows(files: readonly string[]): string {
	return `read_parquet([${files.map(quoteText).join(", ")}], hive_partitioning = false, union_by_name = true)`;
}
