import { parseArgs } from "node:util";

export const formats = ["table", "json", "csv"] as const;
export type Format = (typeof formats)[number];

export interface SqlArguments {
	query: string;
	format: Format;
	/** The DuckDB file itself, or where in the warehouse to look for it. */
	from: { file: string } | { namespace: string; destination?: string };
}

/** The command line is invalid, or names something that doesn't exist. The message says what to type instead. */
export class UsageError extends Error {
	override name = "UsageError";
}

export const usage = `Usage: tidemill sql [--file FILE | --destination NAME [--namespace NAMESPACE]] [--format table|json|csv] 'QUERY'

Runs a query on a DuckDB destination, read-only, and prints the result. Without --file it finds the file of a Tidemill that
runs on this machine (make up).`;

/** Parses the command line of `tidemill sql`. Throws {@link UsageError}. */
export function parseSqlArguments(args: string[]): SqlArguments {
	const { values, positionals } = parse(args);
	const [query, ...more] = positionals;
	if (!query?.trim()) throw new UsageError(`The query is missing.\n${usage}`);
	if (more.length > 0)
		throw new UsageError(
			`There is more than one argument. Put the query in single quotes.\n${usage}`,
		);
	const format = formats.find((known) => known === values.format);
	if (!format)
		throw new UsageError(
			`Unknown format "${values.format}". Choose one of ${formats.join(", ")}.`,
		);
	if (values.file && (values.destination || values.namespace))
		throw new UsageError(
			"--file names the file itself. Omit --destination and --namespace.",
		);
	return {
		query,
		format,
		from: values.file
			? { file: values.file }
			: {
					namespace: values.namespace ?? "default",
					...(values.destination && { destination: values.destination }),
				},
	};
}

function parse(args: string[]) {
	try {
		return parseArgs({
			args,
			allowPositionals: true,
			options: {
				file: { type: "string", short: "f" },
				destination: { type: "string", short: "d" },
				namespace: { type: "string", short: "n" },
				format: { type: "string", short: "o", default: "table" },
			},
		});
	} catch (error) {
		throw new UsageError(`${(error as Error).message}\n${usage}`);
	}
}
