import {
	type ErrorRule,
	passing,
	permanent,
} from "../../contracts/error-rule.ts";
import type { WarehouseDefinition } from "../definition/definition.ts";
import type { DuckDBSpec } from "../generated/specs.ts";

/** The failures of Jobs that only a DuckDB file has. */
export const duckDBErrors = {
	DestinationBusy: passing(
		"Close the program that has the file open, then start a new Run.",
		"Close the program that has the file open.",
	),
	DestinationFull: passing(
		"The table is unchanged. Grow the volume or free space on it.",
		"Grow the volume or free space on it.",
	),
	DestinationUnreadable: permanent(
		"Restore the file from a backup, or move it away so that a new one is created.",
	),
	DestinationNotWritable: permanent(
		"Make the volume writable for the Job's user, or set another spec.duckDB.path.",
	),
	RowsNotUnique: permanent(
		"The table is unchanged. Drop the UNIQUE index or constraint, and make one that isn't unique: DuckDB checks it against rows that the same transaction has deleted, so it refuses a day that is loaded again.",
	),
	TableInUse: permanent(
		"The table is unchanged. Drop what the message names, start a Run, and make it again.",
		"Drop what the message names.",
	),
	PathOutsideVolume: permanent(
		"Set the Destination's spec.duckDB.path to a file inside the volume.",
	),
} satisfies Record<string, ErrorRule>;

/** A DuckDB file on a volume. */
export const definition = {
	member: "duckDB",
	noun: "a DuckDB file",

	input: ({ path }) => ({ path }),
	inputTexts: ["path"],
	// One transaction changes the file, by one statement that reads all days.
	deletedRows:
		"copies of the DuckDB file, and in the file itself until it is written anew",
	takesDaysOneByOne: false,
	volume: ({ volumeClaimName }) => ({ claimName: volumeClaimName }),

	writeLock: ({ volumeClaimName, path }) =>
		`${volumeClaimName ? `${volumeClaimName}/` : ""}${path}`,
	// DuckDB calls an attached file by its name up to the first dot, and so does dbt-duckdb.
	schemaOf: ({ path }) => ({
		database: path.split("/").at(-1)!.split(".")[0]!,
		schema: "main",
	}),

	cli: {
		flags: "--duckdb <path>",
		about: "the path of a DuckDB file on its volume",
		example: "--duckdb lake.duckdb --set duckDB.volumeClaimName=lake",
		specOf: (path) => ({ path }),
		answer: "the name of a DuckDB file",
		answers: /\.duckdb$/,
	},
	form: {
		title: "a file on a volume",
		fields: {
			path: {
				label: "Path of the file",
				help: "Such as analytics/events.duckdb.",
			},
			volumeClaimName: {
				label: "PersistentVolumeClaim",
				help: 'It holds the file, and has the label tidemill.dev/use: "true". Needed in a cluster; on a laptop a folder is used instead.',
			},
		},
		place: ({ path }) => [path],
	},
	errors: duckDBErrors,
} satisfies WarehouseDefinition<DuckDBSpec>;
