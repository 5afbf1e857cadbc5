import { type Command, Option } from "@commander-js/extra-typings";
import {
	type Destination,
	destinationKind,
} from "../../crds/generated/types.ts";
import {
	hasReason,
	TransportError,
} from "../../packages/kube/client/errors.ts";
import { formats } from "../../packages/warehouses/definition/sql.ts";
import { warehouses } from "../../packages/warehouses/registry.ts";
import {
	type Cluster,
	chooseCluster,
	requireObject,
} from "../command/cluster.ts";
import { NoKubeconfig, UsageError } from "../command/errors.ts";
import { type ClusterOptions, examples } from "../command/group.ts";

const queryable = new Intl.ListFormat("en-GB", { type: "disjunction" }).format(
	[...warehouses].flatMap(([type, { isQueryable }]) =>
		isQueryable ? [type] : [],
	),
);

/** `tidemill sql`. */
// biome-ignore lint/complexity/noBannedTypes: commander's own type for "no options".
export function defineSql(program: Command<[], {}, ClusterOptions>): void {
	program
		.command("sql")
		.summary(`query a destination of ${queryable}`)
		.description(
			"Query a destination, read-only, and print the result. It asks a warehouse's server with the credentials in the destination's Secret, which you must be allowed to read. For DuckDB, it reads the destination's file, if Tidemill runs on this machine (make up). Without --destination it asks the namespace's only one, or the only one of DuckDB. The exit code is 75 if the file stays in use.",
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
			const found = options.file ? undefined : await destinationOf(options);
			if (found && !found.destination.spec.duckDB) {
				const { queryWarehouse } = await import("./warehouse-query.ts");
				const { cluster, destination } = found;
				return queryWarehouse(cluster, destination, query, options.format);
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
