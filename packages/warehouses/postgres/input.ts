import type { DestinationInput } from "../../contracts/job.ts";
import { type Binding, type BoundTo, hostIn } from "../definition/binding.ts";
import type { PostgresSpec } from "../generated/specs.ts";

/** What a Job knows of a schema of Postgres. What is absent here a file of the Secret has: {@link fileEnv}. */
export interface PostgresInput
	extends DestinationInput,
		Omit<PostgresSpec, "credentials" | "caSecretRef"> {
	schema: string;
	sslMode: SslMode;
	/** The Secret with the authorities, unless it is that of the user. */
	ca?: string;
	/** Nothing, and there is no connection. */
	bound?: BoundTo;
	/** Whether the server may run on this machine. */
	isLocal?: boolean;
	/** The cluster's own, where names of elsewhere lead to nothing. */
	clusterNetworks?: readonly string[];
}

/** Where the user's password goes. */
export function targetOf(
	{ sslMode, ca }: Pick<PostgresInput, "sslMode" | "ca">,
	server: { host: string; port: number; hasAuthorities: boolean },
): Binding {
	const { host, port, hasAuthorities } = server;
	return {
		scheme: "postgres",
		host: hostIn(host) ?? host,
		port,
		// With authorities, `require` is `verify-ca`, as libpq has it.
		tls: sslMode === "require" && hasAuthorities ? "verify-ca" : sslMode,
		...(ca !== undefined && { ca }),
	};
}

export type SslMode = NonNullable<PostgresSpec["sslMode"]>;

/** The variables with the paths of these files, copies of what the Secrets have. */
export const fileEnv = {
	username: "TIDEMILL_POSTGRES_USERNAME_FILE",
	password: "TIDEMILL_POSTGRES_PASSWORD_FILE",
	host: "TIDEMILL_POSTGRES_HOST_FILE",
	port: "TIDEMILL_POSTGRES_PORT_FILE",
	dbname: "TIDEMILL_POSTGRES_DBNAME_FILE",
	authorities: "TIDEMILL_POSTGRES_CA_FILE",
} as const;

/** What a table shall have beside its columns. */
export interface PostgresTableOptions {
	/** Of a column `body`. */
	bodyType?: "text" | "jsonb";
	/** Each a list of columns. */
	indexes?: string[][];
}
