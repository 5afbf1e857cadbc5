import {
	type ErrorRule,
	passing,
	permanent,
} from "../../contracts/error-rule.ts";
import type { DestinationInput, TableColumn } from "../../contracts/job.ts";
import { type BoundTo, parseBinding } from "../definition/binding.ts";
import {
	addressPart,
	authoritiesField,
	authoritiesOf,
	caOf,
	lineOf,
	quoted,
	secretHelp,
	userFields,
	type WarehouseDefinition,
} from "../definition/definition.ts";
import type { ClickHouseSpec } from "../generated/specs.ts";

const defaultEngine = "MergeTree";

/** The failures of Jobs that only ClickHouse has. */
export const clickHouseErrors = {
	ClickHouseUnavailable: passing(
		"The table has the old rows of each day or the new ones. Correct the Destination's spec.clickHouse.url, start the server there, or let the Job's network reach it.",
		"Correct spec.clickHouse.url, start the server there, or let the network reach it.",
	),
	ClickHouseNotSpoken: permanent(
		"Set the Destination's spec.clickHouse.url to the HTTP interface of a ClickHouse server, which has port 8123 or 8443 as a rule.",
	),
	ClickHouseRefused: permanent(
		"The table has the old rows of each day or the new ones. Correct what the message names, or what the server's log says of it, then start a new Run.",
		"Correct what the message names, or what the server's log says of it.",
	),
	ClickHouseBusy: passing(
		"The table has the old rows of each day or the new ones. The next attempt tries again. Give the server more memory or disk, or run less often.",
		"Give the server more memory or disk.",
	),
	ClickHouseTooOld: permanent("Upgrade the ClickHouse server."),
	HostNotAllowed: permanent(
		"Set the Destination's spec.clickHouse.url to a server that is neither the Job's own Pod nor a service of its node or cloud. To reach one in the cluster, name its Service or address.",
	),
	HostNotBound: permanent(
		"Whoever may change the Secret that the Destination's spec.clickHouse.credentials.secretRef names can say in its annotation tidemill.dev/hosts where its password may go.",
	),
	CertificateRefused: permanent(
		"If no trusted authority has signed it, put the certificate of the one that has into the Secret that the Destination's spec.clickHouse.caSecretRef names. If it is for other names, set spec.clickHouse.url to one of them. If it has expired, renew it at the server.",
	),
	CredentialsRefused: permanent(
		"Put the user's name and password into the keys `username` and `password` of the Secret that the Destination's spec.clickHouse.credentials.secretRef names.",
	),
	PermissionDenied: permanent(
		"Grant the user what docs/clickhouse.md lists: SELECT, INSERT, ALTER, CREATE TABLE and DROP TABLE on the database.",
	),
	RowsHidden: permanent(
		"The table is unchanged. Let the Destination's user see all rows: CREATE ROW POLICY tidemill ON <database>.* USING 1 TO <user>. Then start a new Run.",
	),
	DatabaseMissing: permanent(
		"Create the database, or correct the Destination's spec.clickHouse.database.",
	),
	DatabaseUnsuitable: permanent(
		"Name another database in the Destination's spec.clickHouse.database.",
	),
	ClusterUnsuitable: permanent(
		"Correct the Destination's spec.clickHouse.cluster.",
	),
} satisfies Record<string, ErrorRule>;

/** A database of ClickHouse. */
export const definition = {
	member: "clickHouse",
	noun: "a ClickHouse database",

	defaults: { engine: defaultEngine },
	inputTexts: ["url", "database", "engine"],
	deletedRows: "ClickHouse's inactive parts for some minutes, and its backups",
	takesDaysOneByOne: true,
	limits: {
		// DateTime64(6) and Date32 (clickhouse.com/docs/sql-reference/data-types/datetime64).
		years: [1900, 2299],
		// The type JSON takes objects alone, and a parser refuses what is deeper than 1,000 values.
		objectDepth: 500,
	},
	connection(spec) {
		const target = parseBinding(spec.url);
		return target
			? { field: "url", target: { ...target, ...caOf(spec) } }
			: {
					incomplete: `spec.clickHouse.url is ${spec.url}, which no server can have. It must be like https://clickhouse.example.com:8443.`,
				};
	},
	secrets: ({ credentials, caSecretRef }) => [
		...(["username", "password"] as const).map((key) =>
			lineOf(credentials.secretRef.name, key, { file: key, env: fileEnv[key] }),
		),
		...authoritiesOf(caSecretRef, {
			file: "clickhouse-ca.crt",
			env: fileEnv.authorities,
		}),
	],

	verified: ({ url }) => ({ url: url.replace(/\/$/, "") }),
	writeLock: ({ url, database }, table) =>
		`${url.replace(/\/$/, "").toLowerCase()}/${database}.${table}`,

	schemaOf: ({ database }) => ({ schema: database }),

	optionsOfColumns: ["orderBy"],
	tableProblem({ orderBy = [] }: ClickHouseTableOptions, columns) {
		for (const name of orderBy) {
			const column = columns.find((column) => column.name === name);
			const field = `spec.table.clickHouse.orderBy has "${name}", `;
			if (!column)
				return `${field}which is no column of the table. Its columns are ${columns.map(({ name }) => name).join(", ")}.`;
			if (isJSON(column))
				return `${field}a column of type JSON, by which ClickHouse can't sort. Remove it.`;
		}
		return undefined;
	},

	secretFields: userFields({
		address: ["url", "caSecretRef.name", "caSecretRef.key"],
		needs: ["url"],
	}),
	patternWords: {
		"^https?://([A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]+)?/?$":
			"must be the URL of a server without a path, such as https://clickhouse.example.com:8443",
		"^[A-Za-z0-9_.{}-]+$":
			"must be the name of a cluster: letters, digits, '_', '.', '-' and a macro's braces",
	},
	client({ url, database, caSecretRef }) {
		const { hostname, protocol } = new URL(url);
		const host = hostname.startsWith("[") ? hostname : addressPart(hostname);
		const secure = protocol === "https:" ? "?secure" : "";
		return {
			words: [
				"clickhouse-client",
				`clickhouse://${host}/${addressPart(database)}${secure}`,
			],
			query: "--query=",
			takes: `--user and --password, or ~/.clickhouse-client/config.xml, and --port if the port of ClickHouse's own protocol isn't ${secure ? 9440 : 9000}${caSecretRef ? ", and the certificates of spec.clickHouse.caSecretRef from that file" : ""}`,
		};
	},
	cli: {
		flags: "--clickhouse <url>",
		about:
			"the HTTP interface of a ClickHouse server and a database, such as https://clickhouse.example.com:8443/analytics",
		example:
			"--clickhouse https://clickhouse.example.com:8443/analytics --secret-ref clickhouse",
		specOf(word) {
			const { origin, pathname = "" } = addressOf(word) ?? {};
			const [, database] = /^\/([^/]+)$/.exec(pathname) ?? [];
			return origin === undefined || database === undefined
				? `--clickhouse is ${quoted(word)}, but must be an address and a database, such as https://clickhouse.example.com:8443/analytics`
				: { url: origin, database: decodeURIComponent(database) };
		},
		addressOf,
		answer:
			"a ClickHouse server such as https://clickhouse.example.com:8443/analytics",
		answers: /^https?:/,
	},
	form: {
		title: "a database, version 24.8 or newer",
		fields: {
			url: {
				label: "URL",
				help: "Such as https://clickhouse.example.com:8443.",
			},
			database: { label: "Database" },
			"credentials.secretRef.name": {
				label: "Secret with username and password",
				help: secretHelp,
			},
			engine: {
				label: "Engine of tables",
				help: "Not set: MergeTree, which ClickHouse Cloud makes a SharedMergeTree.",
			},
			cluster: {
				label: "Cluster",
				help: "On all of whose servers tables are made. Not for ClickHouse Cloud.",
			},
			"caSecretRef.name": authoritiesField,
		},
		place: ({ url, database }) => [url, database],
	},
	errors: clickHouseErrors,
} satisfies WarehouseDefinition<ClickHouseSpec>;

function addressOf(word: string): URL | null {
	return /^https?:/.test(word) ? URL.parse(word) : null;
}

function isJSON({ from }: TableColumn): boolean {
	return typeof from === "object" && "type" in from && from.type === "JSON";
}

/** What a Job knows of a database of ClickHouse. */
export interface ClickHouseInput
	extends DestinationInput,
		Omit<ClickHouseSpec, "credentials" | "caSecretRef"> {
	engine: NonNullable<ClickHouseSpec["engine"]>;
	/** Whether the server may run on this machine. */
	isLocal?: boolean;
	/** The Secret with the authorities, unless it is that of the user. */
	ca?: string;
	/** Nothing, and there is no request. */
	bound?: BoundTo;
	/** The cluster's own, where names of elsewhere lead to nothing. */
	clusterNetworks?: readonly string[];
}

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
