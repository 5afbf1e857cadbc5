import { mkdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { type DuckDBInput, jobEnv } from "../../../contracts/job.ts";
import { openDatabase } from "../../duckdb/database.ts";
import { boundedMemory } from "../../duckdb/memory.ts";
import { createDatabase } from "../../duckdb/new-database.ts";
import { Session } from "../../duckdb/session.ts";
import { warehouseFile } from "../../duckdb/warehouse-path.ts";
import { JobFailure } from "../errors.ts";
import type { JobContext } from "../job.ts";
import { destinationFailure } from "./failure.ts";

/**
 * Opens a Destination's DuckDB file for writing, making it when there is none and waiting while another process has it;
 * hands it to `work`, and closes it. Throws {@link JobFailure} for all that can be wrong with a destination.
 */
export async function withDatabase<T>(
	{ path }: DuckDBInput,
	context: JobContext,
	work: (session: Session, file: string) => Promise<T>,
): Promise<T> {
	const { warehouse, scratch, signal, log, busyWaitMs } = context;
	if (warehouse === undefined)
		throw new JobFailure(
			"InputInvalid",
			`The Job has no ${jobEnv.warehouse}, where DuckDB files are`,
		);
	try {
		await mkdir(dirname(resolve(warehouse, path)), { recursive: true });
		const file = await warehouseFile(warehouse, path);
		await createDatabase(file);
		const instance = await openDatabase({
			file,
			waitMs: busyWaitMs,
			signal,
			config: boundedMemory(scratch),
			onWait: (holder) =>
				log.info({ holder, path }, "the DuckDB file is in use; waiting"),
		});
		const session = await Session.open(instance, signal);
		try {
			return await work(session, file);
		} finally {
			session.close();
		}
	} catch (error) {
		signal.throwIfAborted();
		throw destinationFailure(error, path, scratch);
	}
}
