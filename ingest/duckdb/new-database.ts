import "./allocator.ts";
import { link, rm, stat } from "node:fs/promises";
import { DuckDBInstance } from "@duckdb/node-api";

/**
 * Makes an empty DuckDB file unless the path exists. The file appears whole or not at all: DuckDB writes a new file in
 * steps, and refuses for ever one whose maker was killed between them.
 */
export async function createDatabase(file: string): Promise<void> {
	if (await exists(file)) return;
	const draft = `${file}.new-${process.pid}`;
	await rm(draft, { force: true });
	try {
		(await DuckDBInstance.create(draft)).closeSync();
		await link(draft, file);
	} catch (error) {
		// Somebody made it at the same time: theirs will do.
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
