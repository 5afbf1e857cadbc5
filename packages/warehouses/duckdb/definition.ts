import type { WarehouseDefinition } from "../definition/definition.ts";
import type { DuckDBSpec } from "../generated/specs.ts";
import { duckDBErrors } from "./errors.ts";

/** A DuckDB file on a volume. */
export const definition = {
	member: "duckDB",
	noun: "a DuckDB file",

	input: ({ path }) => ({ path }),
	inputTexts: ["path"],
	// One transaction changes the file, by one statement that reads all days.
	takesDaysOneByOne: false,
	volume: ({ volumeClaimName }) => ({ claimName: volumeClaimName }),

	verified: ({ path, volumeClaimName }) => ({ path, volumeClaimName }),
	writeLock: ({ volumeClaimName, path }) =>
		`${volumeClaimName ? `${volumeClaimName}/` : ""}${path}`,

	cli: {
		options: [
			["--duckdb <path>", "the path of a DuckDB file on its volume"],
			["--claim <name>", "the PersistentVolumeClaim with the DuckDB file"],
		],
		example: "--duckdb lake.duckdb --claim lake",
		specOf: ({ duckdb, claim }) => ({
			path: String(duckdb),
			...(claim && { volumeClaimName: String(claim) }),
		}),
	},
	errors: duckDBErrors,
} satisfies WarehouseDefinition<DuckDBSpec>;
