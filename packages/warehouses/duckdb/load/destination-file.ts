import "../../../duckdb/allocator.ts";
import { link, lstat, mkdir, realpath, rm, stat } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve, sep } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { jobEnv } from "../../../contracts/job.ts";
import {
	boundedMemory,
	isOutOfMemory,
	vectorRoom,
} from "../../../duckdb/memory.ts";
import {
	DatabaseBusy,
	DuckDBRefusal,
	openDatabase,
	refusing,
	Session,
} from "../../../duckdb/session.ts";
import { defineBodyValues } from "../../load/body-values.ts";
import {
	type JobErrorCode,
	JobFailure,
	jobErrors,
	refusalWords,
	type WarehouseRefusal,
} from "../../load/failure.ts";
import type { WarehouseContext } from "../../load/warehouse.ts";
import { duckDBErrors } from "../definition.ts";
import { KnownDates } from "./known-dates.ts";
import { keepLargeRowsApart } from "./large-rows.ts";

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

/** The path leads out of the warehouse directory. */
export class PathOutside extends Error {
	override name = "PathOutside";
}

/**
 * The DuckDB file of a Destination: the relative `path` inside the `warehouse` directory, with symbolic links resolved.
 * Throws {@link PathOutside}, or ENOENT if a directory of the path is missing.
 */
export async function warehouseFile(
	warehouse: string,
	path: string,
): Promise<string> {
	const file = resolve(warehouse, path);
	if (isAbsolute(path) || !file.startsWith(resolve(warehouse) + sep))
		throw new PathOutside(`"${path}" leads out of the volume`);
	const [root, directory] = await Promise.all([
		realpath(warehouse),
		realpath(dirname(file)),
	]);
	const real = await target(file, directory);
	if (!real.startsWith(root.replace(/\/?$/, sep)))
		throw new PathOutside(`"${path}" is a link that leads out of the volume`);
	return real;
}

/** The file itself may be a link, or not exist yet. */
async function target(file: string, directory: string): Promise<string> {
	try {
		return await realpath(file);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
		if (await lstat(file).catch(() => undefined))
			throw new PathOutside(`${file} is a link to a file that doesn't exist`);
		return join(directory, file.slice(dirname(file).length + 1));
	}
}

const rules = { ...jobErrors, ...duckDBErrors };

type FileErrorCode = JobErrorCode | keyof typeof duckDBErrors;

function failure(code: FileErrorCode, what: string, options?: ErrorOptions) {
	return new JobFailure(code, what, options, rules);
}

/** DuckDB's errors have no codes, only text. The first matching pattern gives the code. */
const patterns: [RegExp, FileErrorCode][] = [
	[/No space left on device|Disk quota exceeded/i, "DestinationFull"],
	[
		/Permission denied|Read-only file system|Operation not permitted|No such file or directory|Not a directory/i,
		"DestinationNotWritable",
	],
	[
		/not a valid DuckDB database|database file with version|Is a directory|Corrupt|checksum|Serialization Error|newer version of DuckDB/i,
		"DestinationUnreadable",
	],
	[/Existing object .* is of type|base table/i, "TableIncompatible"],
];

/** A row or a value that the table doesn't take. Keys and expressions are left out: they quote rows, and literals. */
const refusals = [
	/^Constraint Error: (?<constraint>NOT NULL) constraint failed: (?<table>[^\n]+)\.(?<column>[^.\n]+)$/,
	/^Constraint Error: (?<constraint>CHECK) constraint failed on table (?<table>[^\n]+?) with expression /,
	/^(Constraint|TransactionContext) Error: (Failed to commit: )?(?<constraint>PRIMARY KEY or UNIQUE) constraint violation/,
	/^Constraint Error: Duplicate key "[\s\S]*" violates (?<constraint>unique|primary key) constraint\.?$/,
	/^Constraint Error: Violates (?<constraint>foreign key) constraint/,
	/^(Constraint|Conversion|Invalid Input|Out of Range|Mismatch Type) Error: /,
];

/** See {@link refusalWords}. */
function rowsRefusal(
	error: DuckDBRefusal,
	by: string,
): WarehouseRefusal | undefined {
	for (const pattern of refusals) {
		const found = error.match(pattern);
		if (found) return { by, code: error.message, ...found.groups };
	}
	return undefined;
}

/**
 * The {@link JobFailure} for an error of a Destination's DuckDB file, with the words that DuckDB has for it where these quote nothing; other errors stay as they are.
 * DuckDB spills to `scratch`, which may be full while the Destination's volume isn't.
 */
export function destinationFailure(
	error: unknown,
	file: string,
	scratch: string,
): unknown {
	if (!(error instanceof Error) || error instanceof JobFailure) return error;
	if (error instanceof DatabaseBusy)
		return failure("DestinationBusy", error.message);
	if (error instanceof PathOutside)
		return failure("PathOutsideVolume", error.message);
	if ((error as NodeJS.ErrnoException).code === "EEXIST")
		return failure(
			"DestinationNotWritable",
			`DuckDB file ${file}: its directory is a file`,
			{ cause: error },
		);
	const by = `DuckDB file ${file}`;
	const refusal =
		error instanceof DuckDBRefusal && !isOutOfMemory(error)
			? rowsRefusal(error, by)
			: undefined;
	if (refusal) {
		const isUnique = /unique/i.test(refusal.constraint ?? "");
		return failure(
			isUnique ? "RowsNotUnique" : "RowsRefused",
			refusalWords(refusal, "rows"),
		);
	}
	const words = error.message.split("\n", 1)[0] ?? "";
	// The words that tell what is wrong may stand in a line that can't be shown.
	const isSaid = (pattern: RegExp) =>
		error instanceof DuckDBRefusal
			? error.match(pattern) !== null
			: pattern.test(words);
	const code = isOutOfMemory(error)
		? "OutOfMemory"
		: patterns.find(([pattern]) => isSaid(pattern))?.[1];
	if (code === undefined) return error;
	return failure(
		code === "DestinationFull" && words.includes(scratch)
			? "ScratchFull"
			: code,
		`${by}: ${words}`,
		{ cause: error },
	);
}
