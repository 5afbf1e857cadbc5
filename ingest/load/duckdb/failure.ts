import { DatabaseBusy } from "../../duckdb/database.ts";
import { PathOutside } from "../../duckdb/warehouse-path.ts";
import { type JobErrorCode, JobFailure } from "../errors.ts";

/** DuckDB's errors have no codes, only words: the first pattern that matches tells what happened. */
const patterns: [RegExp, JobErrorCode][] = [
	[/No space left on device|Disk quota exceeded/i, "DestinationFull"],
	[/Out of Memory Error/i, "OutOfMemory"],
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
 * What an error of the destination means for a Run, with the destination's own words. `scratch` is where DuckDB puts what
 * doesn't fit into memory: a full disk there is another one than the destination's.
 */
export function destinationFailure(
	error: unknown,
	file: string,
	scratch: string,
): unknown {
	if (!(error instanceof Error) || error instanceof JobFailure) return error;
	if (error instanceof DatabaseBusy)
		return new JobFailure("DestinationBusy", error.message);
	if (error instanceof PathOutside)
		return new JobFailure("PathOutsideVolume", error.message);
	// After the first line DuckDB gives advice for people at its prompt.
	const words = error.message.split("\n", 1)[0] ?? "";
	const code = patterns.find(([pattern]) => pattern.test(words))?.[1];
	if (code === undefined) return error;
	return new JobFailure(
		code === "DestinationFull" && words.includes(scratch)
			? "ScratchFull"
			: code,
		`DuckDB file ${file}: ${words}`,
		{ cause: error },
	);
}
