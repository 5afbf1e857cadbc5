import { type Command, Option } from "@commander-js/extra-typings";
import {
	type Destination,
	destinationKind,
} from "../../crds/generated/types.ts";
import { shellWord } from "../../packages/escapes/shell.ts";
import {
	escapedForTerminal,
	unsafeOnTerminal,
} from "../../packages/escapes/terminal.ts";
import {
	hasReason,
	TransportError,
} from "../../packages/kube/client/errors.ts";
import type { WarehouseClient } from "../../packages/warehouses/definition/definition.ts";
import { formats } from "../../packages/warehouses/definition/sql.ts";
import { warehouseOf } from "../../packages/warehouses/registry.ts";
import {
	type Cluster,
	chooseCluster,
	requireObject,
} from "../command/cluster.ts";
import { CommandError, NoKubeconfig, UsageError } from "../command/errors.ts";
import { type ClusterOptions, examples } from "../command/group.ts";
import { print, remark } from "../command/output.ts";

/** `tidemill sql`. */
// biome-ignore lint/complexity/noBannedTypes: commander's own type for "no options".
export function defineSql(program: Command<[], {}, ClusterOptions>): void {
	program
		.command("sql")
		.summary("query a DuckDB file, or print the command that asks a server")
		.description(
			"Query a destination's DuckDB file, read-only, if Tidemill runs on this machine (make up), and print the result. The query reads that file alone. For a destination with a server, print the command of the server's own client, which you run with your own user and password: whoever may edit the destination chose its host, so tidemill sends no password there and reads no Secret. Without --destination it is the namespace's only one, or the only one of DuckDB. The exit code is 75 if the file stays in use.",
		)
		.argument("<query>", "SQL, in single quotes")
		.addOption(
			new Option("-f, --file <path>", "the DuckDB file").conflicts(
				"destination",
			),
		)
		.option("-d, --destination <name>", "the destination")
		.addOption(
			new Option(
				"-o, --format <format>",
				"the format of the result, of a DuckDB file",
			)
				.choices(formats)
				.default("table" as const),
		)
		.addHelpText(
			...examples(
				"tidemill sql 'select count(*) from orders'",
				"tidemill sql --destination warehouse --format csv 'from orders'",
				"tidemill sql --destination reporting 'select count(*) from orders'",
			),
		)
		.action(async (query, _, command) => {
			const options = command.optsWithGlobals();
			const found = options.file ? undefined : await destinationOf(options);
			const client = found && clientOf(found.destination);
			if (client) {
				if (command.getOptionValueSource("format") !== "default")
					throw new UsageError(
						`--format is for a DuckDB file. ${client.words[0]} has options of its own: add one to the command that is printed without --format`,
					);
				remark(reasonOf(client, found.destination));
				print(commandOf(client, query));
				return;
			}
			const { main } = await import(
				"../../packages/warehouses/duckdb/load/sql.ts"
			);
			process.exitCode = await main({
				query,
				...options,
				...(found && {
					namespace: found.cluster.namespace,
					destination: found.destination.metadata.name,
					path: found.destination.spec.duckDB?.path,
				}),
			});
		});
}

/** Undefined of a file. Throws {@link CommandError} for a type that this version doesn't know. */
function clientOf({ spec }: Destination): WarehouseClient | undefined {
	const found = warehouseOf(spec);
	if (found) return found.definition.client?.(found.own);
	throw new CommandError(
		`this version knows no destination of type ${spec.type}. Use the warehouse's own tools`,
	);
}

function reasonOf(
	{ words, takes }: WarehouseClient,
	{ metadata }: Destination,
) {
	return `Nothing is connected to: whoever may edit the destination "${metadata.name}" chose the host in this command. Look at it, since your password goes there, and run it. ${words[0]} takes ${takes}.\n`;
}

/** Throws {@link CommandError} if the words would show another command on a terminal than the shell runs. */
function commandOf({ words, query }: WarehouseClient, sql: string): string {
	const [odd] = words.flatMap((word) => word.match(unsafeOnTerminal) ?? []);
	if (odd !== undefined)
		throw new CommandError(
			`a name of the destination has the character ${escapedForTerminal(odd)}, with which no command is safe to run. Correct the destination`,
		);
	return `${[...words, query + sql].map(shellWord).join(" ")}\n`;
}

/**
 * The Destination that is named, or else the only one. Undefined without a cluster, or where nobody may list: a file of the
 * Destination's name, or the only file, is then the best guess.
 */
async function destinationOf({
	destination: name,
	...options
}: ClusterOptions & { destination?: string | undefined }) {
	try {
		const cluster = await chooseCluster(options);
		const destination = name
			? await requireObject<Destination>(cluster, destinationKind, name)
			: await onlyDestination(cluster);
		return destination && { cluster, destination };
	} catch (error) {
		if (
			error instanceof TransportError ||
			error instanceof NoKubeconfig ||
			(!name && hasReason(error, "Forbidden"))
		)
			return undefined;
		throw error;
	}
}

/** Files of deleted Destinations stay where they are, so files alone don't say which one is meant. */
async function onlyDestination({ client, namespace }: Cluster) {
	const { items } = await client.list<Destination>(destinationKind, {
		namespace,
	});
	const files = items.filter(({ spec }) => spec.duckDB);
	const candidates = files.length > 0 ? files : items;
	if (candidates.length > 1)
		throw new UsageError(
			`namespace ${namespace} has several destinations. Choose one with --destination: ${candidates.map(({ metadata }) => metadata.name).join(", ")}`,
		);
	return candidates[0];
}
