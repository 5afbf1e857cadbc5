import { parseArgs } from "node:util";

export const formats = ["table", "json", "csv"] as const;
export type Format = (typeof formats)[number];

export interface SqlArguments {
	query: string;
	format: Format;
	/** The DuckDB file itself, or where below the warehouse to look for it. */
	from: { file: string } | { namespace: string; destination?: string };
}

/** The command was typed wrong, or what it names isn't there. The message says what to type instead. */
export class UsageError extends Error {
	override name = "UsageError";
}

export const usage = `Usage: tidemill sql [--file FILE | --destination NAME [--namespace NAMESPACE]] [--format table|json|csv] 'QUERY'`;

/** Reads the command line of `tidemill sql`. Throws {@link UsageError}. */
export function parseSqlArguments(args: string[]): SqlArguments {
	const { values, positionals } = parse(args);
	const [query, ...more] = positionals;
	if (!query?.trim()) throw new UsageError(`There is no query. ${usage}`);
	if (more.length > 0)
		throw new UsageError(
			`There is more than one argument: put the query into single quotes. ${usage}`,
		);
	const format = formats.find((known) => known === values.format);
	if (!format)
		throw new UsageError(
			`There is no format "${values.format}": choose one of ${formats.join(", ")}.`,
		);
	if (values.file && (values.destination || values.namespace))
		throw new UsageError(
			"--file names the file itself: leave out --destination and --namespace.",
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
		throw new UsageError(`${(error as Error).message} ${usage}`);
	}
}
