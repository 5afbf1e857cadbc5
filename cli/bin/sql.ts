import { type Command, Option } from "@commander-js/extra-typings";
import {
	type Destination,
	destinationKind,
} from "../../crds/generated/types.ts";
import { TransportError } from "../../packages/kube/client/errors.ts";
import { formats } from "../../packages/warehouses/definition/sql.ts";
import { chooseCluster, requireObject } from "../command/cluster.ts";
import { CommandError, NoKubeconfig } from "../command/errors.ts";
import { type ClusterOptions, examples } from "../command/group.ts";

/** `tidemill sql`. */
// biome-ignore lint/complexity/noBannedTypes: commander's own type for "no options".
export function defineSql(program: Command<[], {}, ClusterOptions>): void {
	program
		.command("sql")
		.summary("query a DuckDB destination")
		.description(
			"Query a DuckDB destination, read-only, and print the result. With --destination it reads the file that the destination names, of a Tidemill that runs on this machine (make up). Without it, there must be only one file. The exit code is 75 if the file stays in use.",
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
			...examples(
				"tidemill sql 'select count(*) from orders'",
				"tidemill sql --destination warehouse --format csv 'from orders'",
			),
		)
		.action(async (query, _, command) => {
			const options = command.optsWithGlobals();
			const { main } = await import(
				"../../packages/warehouses/duckdb/load/sql.ts"
			);
			process.exitCode = await main({
				query,
				...options,
				...(options.destination !== undefined &&
					(await placeOf(options.destination, options))),
			});
		});
}

/** Where the Destination says that its file is. Empty without a cluster: a file of its name is then the best guess. */
async function placeOf(
	name: string,
	options: ClusterOptions,
): Promise<{ namespace?: string; path?: string }> {
	const found = await destinationOf(name, options).catch((error) => {
		if (error instanceof TransportError || error instanceof NoKubeconfig)
			return undefined;
		throw error;
	});
	if (!found) return {};
	const { namespace, spec } = found;
	if (!spec.duckDB)
		throw new CommandError(
			`the destination "${name}" in namespace ${namespace} is ${spec.type}, and only DuckDB has a file. Query it with the warehouse's own tools.`,
		);
	return { namespace, path: spec.duckDB.path };
}

async function destinationOf(name: string, options: ClusterOptions) {
	const cluster = await chooseCluster(options);
	const { spec } = await requireObject<Destination>(
		cluster,
		destinationKind,
		name,
	);
	return { namespace: cluster.namespace, spec };
}
