import type { JobErrorRule } from "../definition/definition.ts";

/** The failures of Jobs that only a DuckDB file has. */
export const duckDBErrors = {
	DestinationBusy: {
		retryable: true,
		advice: "Close the program that has the file open, then start a new Run.",
		checkAdvice: "Close the program that has the file open.",
	},
	DestinationFull: {
		retryable: true,
		advice: "The table is unchanged. Grow the volume or free space on it.",
		checkAdvice: "Grow the volume or free space on it.",
	},
	DestinationUnreadable: {
		retryable: false,
		advice:
			"Restore the file from a backup, or move it away so that a new one is created.",
	},
	DestinationNotWritable: {
		retryable: false,
		advice:
			"Make the volume writable for the Job's user, or set another spec.duckDB.path.",
	},
	PathOutsideVolume: {
		retryable: false,
		advice:
			"Set the Destination's spec.duckDB.path to a file inside the volume.",
	},
} as const satisfies Record<string, JobErrorRule>;
