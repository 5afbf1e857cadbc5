import { DatabaseBusy } from "../../../duckdb/database.ts";
import { isOutOfMemory } from "../../../duckdb/memory.ts";
import {
	type JobErrorCode,
	JobFailure,
	jobErrors,
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
	[
		/Existing object .* is of type|base table|Constraint Error/i,
		"TableIncompatible",
	],
];

/**
 * The {@link JobFailure} for an error of a Destination's DuckDB file, with DuckDB's own words; other errors stay as they are.
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
	// The lines after the first are advice for people at DuckDB's prompt.
	const words = error.message.split("\n", 1)[0] ?? "";
	const code = isOutOfMemory(error)
		? "OutOfMemory"
		: patterns.find(([pattern]) => pattern.test(words))?.[1];
	if (code === undefined) return error;
	return failure(
		code === "DestinationFull" && words.includes(scratch)
			? "ScratchFull"
			: code,
		`DuckDB file ${file}: ${words}`,
		{ cause: error },
	);
}
