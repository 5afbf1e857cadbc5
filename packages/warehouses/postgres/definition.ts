import {
	type ErrorRule,
	passing,
	permanent,
} from "../../contracts/error-rule.ts";
import type { TableColumn } from "../../contracts/job.ts";
import { hostIn } from "../definition/binding.ts";
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
import type { PostgresSpec } from "../generated/specs.ts";
import { fileEnv, type PostgresTableOptions, targetOf } from "./input.ts";

const defaultPort = 5432;
const defaultSchema = "public";
const defaultMode = "verify-full";
const sslModes = ["verify-full", "verify-ca", "require", "disable"] as const;

/** Keys of a Secret, as CloudNativePG makes it, and the field that wins over each. */
const inSecret = { host: "host", port: "port", dbname: "database" } as const;

/** The failures of Jobs that only Postgres has. */
export const postgresErrors = {
	PostgresUnavailable: passing(
		"Each day in the table is the old one or the new one. Correct the Destination's spec.postgres.host and port, start the server there, or let the Job's network reach it.",
		"Correct spec.postgres.host and port, start the server there, or let the network reach it.",
	),
	PostgresNotSpoken: permanent(
		"Set the Destination's spec.postgres.host and port to those of a Postgres server.",
	),
	PostgresRefused: permanent(
		"Each day in the table is the old one or the new one. Correct what the message names, or what the server's log says of it, then start a new Run.",
		"Correct what the message names, or what the server's log says of it.",
	),
	PostgresBusy: passing(
		"Each day in the table is the old one or the new one, and the next attempt tries again. If a program holds a lock on the table, end its transaction.",
		"If it stays so, give the server more connections or memory.",
	),
	PostgresFull: passing(
		"Each day in the table is the old one or the new one. Give the server more disk.",
		"Give the server more disk.",
	),
	PostgresTooOld: permanent("Upgrade the Postgres server."),
	HostNotAllowed: permanent(
		"Set the Destination's spec.postgres.host to a host that isn't the Pod itself or its node. To reach one in the cluster, name its Service or address.",
	),
	HostNotBound: permanent(
		"Whoever may change the Secret that the Destination's spec.postgres.credentials.secretRef names can say in its annotation tidemill.dev/hosts where its password may go.",
	),
	CertificateRefused: permanent(
		"If no trusted authority has signed it, put the certificate of the one that has into the Secret that the Destination's spec.postgres.caSecretRef names. If it is for other names, set spec.postgres.host to one of them. If it has expired, renew it at the server. Whose certificate it is doesn't count with spec.postgres.sslMode: require, which encrypts alone.",
	),
	EncryptionMissing: permanent(
		"Turn TLS on at the server (ssl = on in postgresql.conf, with a certificate). Only for a server on the loopback, set the Destination's spec.postgres.sslMode to disable: events go unencrypted then.",
	),
	ServerUnverified: permanent(
		"Set the Destination's spec.postgres.sslMode to verify-full, and caSecretRef if an authority of your own has signed the server's certificate; or have the server ask for scram-sha-256, in its pg_hba.conf and by password_encryption, with scram_iterations of at least 4096. Then set the user's password again.",
	),
	CredentialsRefused: permanent(
		"Put the user's name and password into the keys `username` and `password` of the Secret that the Destination's spec.postgres.credentials.secretRef names.",
	),
	PermissionDenied: permanent(
		"Grant the user what docs/postgres.md lists: CONNECT on the database, and USAGE and CREATE on the schema.",
	),
	NotOwner: permanent(
		"The table is unchanged. Execute what the message says, then start a new Run. A role that makes partitions, such as pg_partman's, can give these rights to later ones by ALTER DEFAULT PRIVILEGES.",
		"Execute what the message says.",
	),
	RowsHidden: permanent(
		"An Erase must see all rows, and row security may hide some. Make the Destination's user the owner of the table and set its NO FORCE ROW LEVEL SECURITY, or give the user BYPASSRLS. Then start a new Run.",
	),
	RowsUntouched: permanent(
		"The day in the table is the old one, and no row is erased. Disable the trigger, drop the rule or the policy, or let it pass what the Destination's user does. Then start a new Run.",
	),
	DatabaseMissing: permanent(
		"Create the database and the schema, or correct the Destination's spec.postgres.database and spec.postgres.schema.",
	),
	EncodingUnsupported: permanent(
		"Create a database WITH ENCODING 'UTF8' TEMPLATE template0, and name it in the Destination's spec.postgres.database.",
	),
	NameTooLong: permanent(
		"Postgres cuts names at 63 bytes. Set a shorter spec.table.name in the Pipeline, or capture a header with a shorter name.",
		"Postgres cuts names at 63 bytes. Choose a shorter one.",
	),
	TableInUse: permanent(
		"The table is unchanged. Drop what the message names, start a Run, and make it again.",
		"Drop what the message names.",
	),
} satisfies Record<string, ErrorRule>;

/** A schema of a Postgres database. */
export const definition = {
	member: "postgres",
	noun: "a Postgres database",

	defaults: { schema: defaultSchema, sslMode: defaultMode },
	inputTexts: ["schema", "sslMode"],
	deletedRows:
		"Postgres' dead rows until a vacuum, its write-ahead log and its backups",
	takesDaysOneByOne: true,
	// A row must fit a page, of which it has 8,160 bytes. Values of more than 24 bytes go elsewhere and leave 18
	// (https://www.postgresql.org/docs/current/storage-toast.html), so 300 take up to 7,200. There is room for the other
	// columns: up to 30 from a request, the event's own, and that of the rest.
	mostBodyColumns: 300,
	// https://www.postgresql.org/docs/current/ddl-system-columns.html
	reservedColumns: ["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"],
	secrets(spec) {
		const { credentials, caSecretRef } = spec;
		const { name } = credentials.secretRef;
		const keys = [
			"username",
			"password",
			...(["host", "port", "dbname"] as const).filter(
				(key) => spec[inSecret[key]] === undefined,
			),
		] as const;
		return [
			...keys.map((key) =>
				lineOf(name, key, {
					file: `postgres-${key}`,
					env: fileEnv[key],
					isOptional: key in inSecret,
					...(key in problems && {
						problemOf: problems[key as keyof typeof problems],
					}),
				}),
			),
			...authoritiesOf(caSecretRef, {
				file: "postgres-ca.crt",
				env: fileEnv.authorities,
			}),
		];
	},
	connection(spec, secret) {
		const { host, port, database, sslMode = defaultMode, caSecretRef } = spec;
		const { name } = spec.credentials.secretRef;
		const lacking = [
			...(host || secret("host") ? [] : ["host"]),
			...(database || secret("dbname") ? [] : ["database"]),
		];
		const [field] = lacking;
		if (field !== undefined)
			return {
				incomplete: `spec.postgres.${lacking.join(" and spec.postgres.")} ${lacking.length > 1 ? "are" : "is"} not set, and Secret "${name}" has no key "${lacking.map((one) => (one === "host" ? "host" : "dbname")).join('" and no key "')}". Set the field, or add the key.`,
			};
		return {
			field: "host",
			target: targetOf(
				{ sslMode, ...caOf(spec) },
				{
					host: host ?? secret("host")!,
					port: port ?? Number(secret("port") ?? defaultPort),
					hasAuthorities: caSecretRef !== undefined,
				},
			),
		};
	},

	// Its default is what the Secret has.
	verified: ({ port }) => (port === defaultPort ? { port: undefined } : {}),
	// What the Secret fills is the Secret's in the lock, too. A table's mark knows it under every name of the server.
	writeLock: (
		{ host, port, database, schema, credentials },
		table,
		reachedPort = defaultPort,
	) => {
		const secret = `secret ${credentials.secretRef.name}`;
		const shownPort =
			port === undefined && reachedPort !== defaultPort
				? `${reachedPort} (${secret})`
				: (port ?? defaultPort);
		return `${host?.toLowerCase() ?? secret}:${shownPort}/${database ?? secret}/${schema ?? defaultSchema}.${table}`;
	},
	// Stored layouts of versions that didn't know the Secret's port have the usual one in its place.
	comparedLock: (lock) =>
		lock.replace(/^([^/]*:)\d+ \(secret [^/]*\)\//, `$1${defaultPort}/`),

	sharedLock: (lock) => lock.replace(/^([^/]*:\d+) \(secret [^/]*\)\//, "$1/"),

	schemaOf: ({ database, schema = defaultSchema }) => ({
		...(database && { database }),
		schema,
	}),

	optionsOfColumns: ["bodyType", "indexes"],
	tableProblem({ indexes = [], bodyType }: PostgresTableOptions, columns) {
		for (const name of indexes.flat()) {
			const column = columns.find((column) => column.name === name);
			const field = `spec.table.postgres.indexes has "${name}", `;
			if (!column)
				return `${field}which is no column of the table. Its columns are ${columns.map(({ name }) => name).join(", ")}.`;
			if (isJSON(column) || column.from === "Body")
				return `${field}a column whose values may be larger than what an index of Postgres holds. Make an index of your own on an expression; Tidemill keeps it.`;
		}
		if (bodyType !== undefined && !columns.some(({ from }) => from === "Body"))
			return `spec.table.postgres.bodyType is "${bodyType}", but the table has no column Body. Add Body to spec.table.columns, or remove bodyType.`;
		return undefined;
	},

	secretFields: userFields({
		address: ["host", "port", "sslMode", "caSecretRef.name", "caSecretRef.key"],
		needs: ["host", "database"],
	}),
	patternWords: {
		"^([A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9])?\\.?|[0-9A-Fa-f:.]+)$":
			"must be a host's name or address, such as db.example.com",
	},
	client({ host, port, database, schema, sslMode, caSecretRef }) {
		const mode = sslMode ?? defaultMode;
		const settings = {
			sslmode: mode,
			// The public authorities, as Jobs have them, and not a file that most people lack (libpq 16).
			...(mode === defaultMode && !caSecretRef && { sslrootcert: "system" }),
			...(schema && schema !== defaultSchema && { options: pathOf(schema) }),
		};
		const server = [
			// An IPv6 address.
			/^[0-9A-Fa-f:.]+:[0-9A-Fa-f:.]*$/.test(host ?? "")
				? `[${host}]`
				: addressPart(host ?? ""),
			...(port ? [port] : []),
		].join(":");
		const from = Object.entries(settings).map(
			([name, value]) => `${name}=${addressPart(value)}`,
		);
		const left = [
			"PGUSER and PGPASSWORD, or ~/.pgpass",
			...(host ? [] : ["PGHOST"]),
			...(host || port ? [] : ["PGPORT"]),
			...(database ? [] : ["PGDATABASE"]),
			...(caSecretRef ? ["PGSSLROOTCERT"] : []),
		];
		return {
			words: [
				"psql",
				// As an option: psql takes an address for what it is, and nothing in it for another one (PQconnectdbParams).
				`--dbname=postgresql://${server}/${addressPart(database ?? "")}?${from.join("&")}`,
			],
			query: "--command=",
			takes: left.join(", "),
		};
	},
	cli: {
		flags: "--postgres <address>",
		about:
			"a Postgres server and a database, such as postgres://db.example.com/analytics",
		example:
			"--postgres postgres://db.example.com/analytics --secret-ref postgres",
		specOf(word) {
			const url = addressOf(word);
			const sslMode = url?.searchParams.get("sslmode") ?? undefined;
			const mode = sslModes.find((one) => one === sslMode);
			if (!url?.hostname)
				return `--postgres is ${quoted(word)}, but must be an address such as postgres://db.example.com:5432/analytics`;
			if (sslMode !== undefined && !mode)
				return `sslmode of --postgres is "${sslMode}". It must be verify-full, which checks whose server it is, verify-ca or require; or disable, for a server on the loopback`;
			const database = decodeURIComponent(url.pathname.slice(1));
			return {
				host: url.hostname.replace(/^\[|\]$/g, ""),
				...(url.port && { port: Number(url.port) }),
				...(database && { database }),
				...(mode && { sslMode: mode }),
			};
		},
		addressOf,
		answer: "a Postgres server such as postgres://db.example.com/analytics",
		answers: /^postgres(ql)?:/,
	},
	form: {
		title: "a schema, version 14 or newer",
		fields: {
			"credentials.secretRef.name": {
				label: "Secret with username and password",
				help: `${secretHelp} Its keys host, port and dbname fill what is empty below.`,
			},
			host: { label: "Host", help: "Empty: the Secret's key host." },
			port: {
				label: "Port",
				help: `Empty: the Secret's key port, or else ${defaultPort}.`,
			},
			database: { label: "Database", help: "Empty: the Secret's key dbname." },
			schema: { label: "Schema", help: `Empty: ${defaultSchema}.` },
			sslMode: {
				label: "TLS mode",
				help: "verify-full checks the server's certificate and its name; disable sends events and the password unencrypted.",
			},
			"caSecretRef.name": authoritiesField,
		},
		tableFields: {
			bodyType: {
				label: "Type of body in Postgres",
				help: "Not set: text, byte for byte. jsonb is quicker to query, but keeps neither spaces nor the order of members; a body that it can't hold is NULL and counted.",
			},
		},
		place: ({ host, database, schema, credentials }) => [
			host ?? credentials.secretRef.name,
			database,
			schema,
		],
	},
	errors: postgresErrors,
} satisfies WarehouseDefinition<PostgresSpec>;

/** The scheme may be left out. */
function addressOf(word: string): URL | null {
	const hasScheme = /^postgres(ql)?:|:\/\//.test(word);
	const url = URL.parse(hasScheme ? word : `postgres://${word}`);
	return url && /^postgres(ql)?:$/.test(url.protocol) ? url : null;
}

function isJSON({ from }: TableColumn): boolean {
	return typeof from === "object" && "type" in from && from.type === "JSON";
}

/** Of a value of the Secret that takes a field's place. */
const problems = {
	host: (value: string) =>
		hostIn(value) === undefined
			? "is no host's name or address, such as db.example.com."
			: undefined,
	port: portProblem,
};

/** The parameter `options`, whose words end at a space (pg_split_opts). */
function pathOf(schema: string): string {
	const path = `"${schema.replaceAll('"', '""')}",public`;
	return `-csearch_path=${path.replace(/[\s\\]/g, "\\$&")}`;
}

function portProblem(value: string): string | undefined {
	return /^\d+$/.test(value) && Number(value) >= 1 && Number(value) <= 65_535
		? undefined
		: "is no port. It must be a number from 1 to 65535.";
}
