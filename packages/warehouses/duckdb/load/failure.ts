import { DatabaseBusy } from "../../../duckdb/database.ts";
import { isOutOfMemory } from "../../../duckdb/memory.ts";
import { DuckDBRefusal } from "../../../duckdb/refusal.ts";
import {
	type JobErrorCode,
	JobFailure,
	jobErrors,
	refusalWords,
	type WarehouseRefusal,
} from "../../load/failure.ts";
import { duckDBErrors } from "../definition.ts";
import { PathOutside } from "./warehouse-path.ts";

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
