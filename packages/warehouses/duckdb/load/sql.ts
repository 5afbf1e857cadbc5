import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseBusy, openDatabase } from "../../../duckdb/session.ts";
import { linesForTerminal } from "../../../escapes/terminal.ts";
import { Settings } from "../../../service/settings.ts";
import { type SqlOptions, SqlUsageError } from "../../definition/sql.ts";
import { print } from "../../load/query-output.ts";
import { PathOutside, warehouseFile } from "./destination-file.ts";
import { output } from "./sql-output.ts";

/**
 * Others write the file, and a view in it may read what the person can: it gets no other file, no network, no extension and no stored
 * secret (duckdb.org/docs/stable/operations_manual/securing_duckdb/overview).
 */
const fileAlone = {
	enable_external_access: "false",
	autoinstall_known_extensions: "false",
	autoload_known_extensions: "false",
};
/** A Run holds the file only while it replaces its days. */
const busyWaitMs = 60_000;

/**
 * `tidemill sql`: queries a DuckDB Destination, read-only, and prints the result.
 * Exit codes: 0; 1 if the query fails; 2 if the command line is invalid; 75 if the file stays in use.
 */
export async function main(options: SqlOptions): Promise<number> {
	try {
		await query(options, options.file ?? (await findFile(options)));
		return 0;
	} catch (error) {
		return report(error);
	}
}

async function findFile({
	namespace = "default",
	destination,
	path,
}: SqlOptions): Promise<string> {
	const home = new Settings().text("TIDEMILL_HOME", "./.tidemill");
	const directory = join(home, "warehouse", namespace);
	if (path !== undefined) return requireFile(directory, path);
	const names = await readdir(directory).catch(() => undefined);
	return join(directory, chooseFile(directory, names, destination));
}

/** DuckDB's own message would be about a database that it can't open. */
async function requireFile(directory: string, path: string): Promise<string> {
	// An editor's text, which must not lead to another file of the person's.
	const file = await warehouseFile(directory, path).catch((error: Error) => {
		if (error instanceof PathOutside) throw new SqlUsageError(error.message);
		return undefined;
	});
	if (file !== undefined && (await stat(file).catch(() => undefined)))
		return file;
	throw new SqlUsageError(
		`There is no ${join(directory, path)} on this machine. The destination's first run creates it. If it is on a volume of a cluster, copy it here and use --file.`,
	);
}

async function query(
	{ query, format }: SqlOptions,
	file: string,
): Promise<void> {
	const database = await openDatabase({
		file,
		readOnly: true,
		config: fileAlone,
		waitMs: busyWaitMs,
		onWait: (holder) =>
			process.stderr.write(`Waiting for ${holder}, which has ${file} open.\n`),
	});
	try {
		const connection = await database.connect();
		await connection.run("SET TimeZone = 'UTC'; SET lock_configuration = true");
		const result = await connection.stream(query);
		await print((width) => output(result, format, width));
		connection.closeSync();
	} finally {
		database.closeSync();
	}
}

function report(error: unknown): number {
	// The reader closed the pipe (`… | head`).
	if ((error as NodeJS.ErrnoException).code === "EPIPE") return 0;
	if (!(error instanceof Error)) throw error;
	// DuckDB quotes what it can't read.
	process.stderr.write(`tidemill sql: ${linesForTerminal(error.message)}\n`);
	if (error.message.includes("Malformed JSON"))
		process.stderr.write(
			"A body that DuckDB can't read is NULL with TRY_CAST(body AS JSON) ->> '$.type' in place of body ->> '$.type'.\n",
		);
	if (error instanceof SqlUsageError) return 2;
	return error instanceof DatabaseBusy ? 75 : 1;
}

/**
 * Chooses the DuckDB file to query in a warehouse directory: the Destination's (`<destination>.duckdb`), or the only one.
 * @param names the directory's entries; undefined when it doesn't exist.
 * Throws {@link SqlUsageError}.
 */
export function chooseFile(
	directory: string,
	names: string[] | undefined,
	destination?: string,
): string {
	const files = (names ?? []).filter((name) => name.endsWith(".duckdb")).sort();
	if (files.length === 0)
		throw new SqlUsageError(
			`There is no DuckDB file in ${directory}. A Destination's first Run creates it. Name another place with --namespace or --file.`,
		);
	const list = files.join(", ");
	if (destination !== undefined) {
		if (files.includes(`${destination}.duckdb`)) return `${destination}.duckdb`;
		throw new SqlUsageError(
			`There is no ${destination}.duckdb in ${directory}, which has: ${list}. If the Destination's spec.duckDB.path differs, name the file with --file.`,
		);
	}
	const [only, ...others] = files;
	if (only !== undefined && others.length === 0) return only;
	throw new SqlUsageError(
		`There are several DuckDB files in ${directory}: ${list}. Choose one with --destination or --file.`,
	);
}
