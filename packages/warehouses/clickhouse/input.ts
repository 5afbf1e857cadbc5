import type { DestinationInput } from "../../contracts/job.ts";
import type { BoundTo } from "../definition/binding.ts";

/** What a Job knows of a database of ClickHouse. */
export interface ClickHouseInput extends DestinationInput {
	url: string;
	database: string;
	cluster?: string;
	engine: Engine;
	/** Whether the server may run on this machine. */
	isLocal?: boolean;
	/** The Secret with the authorities, unless it is that of the user. */
	ca?: string;
	/** Nothing, and there is no request. */
	bound?: BoundTo;
	/** The cluster's own, where names of elsewhere lead to nothing. */
	clusterNetworks?: readonly string[];
}

export type Engine = "MergeTree" | "ReplicatedMergeTree" | "SharedMergeTree";

/** The variables with the paths of these files, copies of what the Secrets have. */
export const fileEnv = {
	username: "TIDEMILL_CLICKHOUSE_USERNAME_FILE",
	password: "TIDEMILL_CLICKHOUSE_PASSWORD_FILE",
	authorities: "TIDEMILL_CLICKHOUSE_CA_FILE",
} as const;

/** What a table shall have beside its columns. */
export interface ClickHouseTableOptions {
	/** Names of columns, by which the rows of each day are sorted. What is absent stays as the table has it. */
	orderBy?: string[];
}
