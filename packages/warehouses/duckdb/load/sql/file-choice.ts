import { SqlUsageError } from "../../../definition/sql.ts";

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
