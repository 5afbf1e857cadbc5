import { type Command, Option } from "@commander-js/extra-typings";
import { type ClusterOptions, examples } from "../cli/command/group.ts";
import { formats } from "../ingest/sql/options.ts";

/** `tidemill sql`. */
// biome-ignore lint/complexity/noBannedTypes: commander's own type for "no options".
export function defineSql(program: Command<[], {}, ClusterOptions>): void {
	program
		.command("sql")
		.summary("query a DuckDB destination")
		.description(
			"Query a DuckDB destination, read-only, and print the result. Without --file it finds the file of a Tidemill that runs on this machine (make up). The exit code is 75 if the file stays in use.",
		)
		.argument("<query>", "SQL, in single quotes")
		.addOption(
			new Option("-f, --file <path>", "the DuckDB file").conflicts(
				"destination",
			),
		)
		.option("-d, --destination <name>", "the destination")
		.addOption(
			new Option("-o, --format <format>", "the format of the result")
				.choices(formats)
				.default("table" as const),
		)
		.addHelpText(
			"after",
			examples(
				"tidemill sql 'select count(*) from orders'",
				"tidemill sql --destination warehouse --format csv 'from orders'",
			),
		)
		.action(async (query, _, command) => {
			const { main } = await import("../ingest/sql/main.ts");
			process.exitCode = await main({ query, ...command.optsWithGlobals() });
		});
}
