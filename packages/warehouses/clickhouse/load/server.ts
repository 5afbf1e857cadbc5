import { JobFailure } from "../../load/failure.ts";
import type { ClickHouseInput } from "../input.ts";
import type { Connection } from "./connection.ts";
import { ClickHouseFailure } from "./failure.ts";
import { quoteText } from "./statements.ts";

/** What a server says of itself. */
export interface ServerFacts {
	version: string;
	/** The database's, such as `Atomic`; undefined if there is none. */
	databaseEngine: string | undefined;
	/** Of the cluster that the Destination names; 0 if the server knows none of that name. */
	shards: number | undefined;
}

/** The first version that a test or a page of the vendor vouches for. */
const oldest = [24, 8];
/** In which the type JSON is no experiment any more (clickhouse.com/docs/sql-reference/data-types/newjson). */
const oldestWithJSON = [25, 3];

export async function serverFacts(
	connection: Connection,
): Promise<ServerFacts> {
	const { database, cluster } = connection.input;
	const [[server], [found], shards] = await Promise.all([
		connection.rows<{ version: string }>("SELECT version() AS version"),
		connection.rows<{ engine: string }>(
			`SELECT engine FROM system.databases WHERE name = ${quoteText(database)}`,
		),
		cluster === undefined
			? []
			: connection.rows<{ shards: string }>(
					`SELECT toString(max(shard_num)) AS shards FROM system.clusters WHERE cluster = ${cluster.startsWith("{") ? `getMacro(${quoteText(cluster.slice(1, -1))})` : quoteText(cluster)}`,
				),
	]);
	return {
		version: server!.version,
		databaseEngine: found?.engine,
		shards: cluster === undefined ? undefined : Number(shards[0]?.shards),
	};
}

/** Throws {@link ClickHouseFailure} if a server can't have tables of ours. */
export function requireSuitable(
	{ version, databaseEngine, shards }: ServerFacts,
	{ database, cluster }: Pick<ClickHouseInput, "database" | "cluster">,
	needsJSON: boolean,
): void {
	if (isOlder(version, oldest))
		throw new ClickHouseFailure(
			"ClickHouseTooOld",
			`The server is ClickHouse ${version}, and Tidemill needs ${oldest.join(".")} or newer`,
		);
	// The Pipeline isn't ready, then.
	if (needsJSON && isOlder(version, oldestWithJSON))
		throw new JobFailure(
			"TableIncompatible",
			`The table has columns of type JSON, which need ClickHouse ${oldestWithJSON.join(".")} or newer, but the server is ${version}. Upgrade it, or load these columns as another type`,
		);
	if (databaseEngine === undefined)
		throw new ClickHouseFailure(
			"DatabaseMissing",
			`The server has no database "${database}", or the user may not see it`,
		);
	if (!/^(Atomic|Replicated|Shared)$/.test(databaseEngine))
		throw new ClickHouseFailure(
			"DatabaseUnsuitable",
			`The database "${database}" has the engine ${databaseEngine}, in which tables can't be exchanged at once. It must be Atomic, Replicated or Shared`,
		);
	if (shards !== undefined && shards !== 1)
		throw new ClickHouseFailure(
			"ClusterUnsuitable",
			shards > 1
				? `The cluster "${cluster}" has ${shards} shards, and a table must be whole on each server`
				: `The server knows no cluster "${cluster}"`,
		);
}

function isOlder(
	version: string,
	[major = 0, minor = 0]: readonly number[],
): boolean {
	const [found = 0, foundMinor = 0] = version.split(".").map(Number);
	return found < major || (found === major && foundMinor < minor);
}
