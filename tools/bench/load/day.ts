import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { writeEventObject } from "./event-objects.ts";

/** The day that the lanes of one-day loads have. */
export const benchDay = "2026-03-01";
export const dayObjects = 10;

/** Writes a day's objects, and all their rows to another file with DuckDB's options of COPY. Returns the objects' files. */
export async function writeDay(
	directory: string,
	events: number,
	prepared: { file: string; options: string },
): Promise<string[]> {
	await mkdir(directory);
	const instance = await DuckDBInstance.create(":memory:");
	const connection = await instance.connect();
	const files: string[] = [];
	for (let part = 0; part < dayObjects; part++) {
		const name = `bench-${String(part).padStart(20, "0")}.parquet`;
		const file = join(directory, name);
		const rows = events / dayObjects;
		await writeEventObject(
			connection,
			file,
			{ date: benchDay, from: part * rows, to: (part + 1) * rows, stepMs: 80 },
			20_480,
		);
		files.push(file);
	}
	await connection.run("SET TimeZone = 'UTC'");
	await connection.run(
		`COPY (SELECT event_id, timestamp, body, date FROM read_parquet('${directory}/*.parquet')) TO '${prepared.file}' (${prepared.options})`,
	);
	connection.closeSync();
	instance.closeSync();
	return files;
}
