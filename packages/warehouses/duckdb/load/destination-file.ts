import "../../../duckdb/allocator.ts";
import { link, mkdir, rm, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { jobEnv } from "../../../contracts/job.ts";

import { openDatabase } from "../../../duckdb/database.ts";
import { boundedMemory, vectorRoom } from "../../../duckdb/memory.ts";
import { refusing } from "../../../duckdb/refusal.ts";
import { Session } from "../../../duckdb/session.ts";
import { defineBodyValues } from "../../load/body-values.ts";
import { JobFailure } from "../../load/failure.ts";
import type { WarehouseContext } from "../../load/warehouse.ts";
import { destinationFailure } from "./failure.ts";
import { KnownDates } from "./known-dates.ts";
import { keepLargeRowsApart } from "./large-rows.ts";
import { warehouseFile } from "./warehouse-path.ts";

/**
 * Opens a Destination's DuckDB file for writing, hands it to `work`, and closes it. Creates the file if there is none, and
 * waits while another process holds it. Throws {@link JobFailure} for everything that can be wrong with the Destination.
 */
export async function withDestinationFile<T>(
	path: string,
	context: WarehouseContext,
	work: (session: Session, known: KnownDates) => Promise<T>,
): Promise<T> {
	const { warehouse, scratch, signal, log, busyWaitMs } = context;
	if (warehouse === undefined)
		throw new JobFailure(
			"InputInvalid",
			`The Job lacks ${jobEnv.warehouse}, the directory of DuckDB files`,
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
		defineBodyValues(session);
		try {
			await keepLargeRowsApart(vectorRoom(), session);
			const known = await KnownDates.read(file);
			const result = await work(session, known);
			await known.write(session, log);
			return result;
		} finally {
			session.close();
		}
	} catch (error) {
		signal.throwIfAborted();
		throw destinationFailure(error, path, scratch);
	}
}

/**
 * Creates an empty DuckDB file unless the path exists. The file appears whole or not at all: DuckDB writes a new file in
 * steps, and never again opens one whose creator was killed between them.
 */
async function createDatabase(file: string): Promise<void> {
	if (await exists(file)) return;
	const draft = `${file}.new-${process.pid}`;
	await rm(draft, { force: true });
	try {
		(await refusing(() => DuckDBInstance.create(draft))).closeSync();
		await link(draft, file);
	} catch (error) {
		// Another process created it at the same time.
		if (!(await exists(file))) throw error;
	} finally {
		await rm(draft, { force: true });
	}
}

async function exists(file: string): Promise<boolean> {
	try {
		await stat(file);
		return true;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
		throw error;
	}
}
