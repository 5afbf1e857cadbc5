import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import {
	appendFile,
	chmod,
	chown,
	copyFile,
	cp,
	mkdir,
	stat,
	writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import pg from "pg";
import {
	installPackages,
	isInstalled,
} from "../../../local/binaries/debian-packages.ts";
import { freePort } from "../../../local/machine/ports.ts";
import {
	linkLibraries,
	newestPostgres,
	type PostgresVersion,
	postgresPrograms,
} from "../../../packages/warehouses/postgres/local-server.ts";
import { done } from "./python.ts";
import {
	startServer,
	type TestServer,
	temporaryDirectory,
} from "./test-server.ts";

/** A real Postgres, which npm has as a package, or Debian. */
export interface PostgresServer extends TestServer {
	port: number;
	user: string;
	password: string;
	/** Rows of a statement, each as a list of texts; as the superuser of a database. */
	rows(sql: string, database?: string): Promise<(string | null)[][]>;
	/** A connection of one's own, which the test ends. */
	connect(
		database: string,
		user?: string,
		password?: string,
	): Promise<pg.Client>;
}

/** Postgres doesn't run as root. */
const nobody = 65_534;
export const isRoot = process.getuid?.() === 0;

const isDebian12 = (() => {
	try {
		return readFileSync("/etc/debian_version", "utf8").startsWith("12.");
	} catch {
		return false;
	}
})();
const debians = "/usr/lib/postgresql/15";

/** Debian 12's own Postgres, which only root can install. */
export const isDebiansPostgresHere =
	isInstalled(`${debians}/bin/postgres`) ||
	(isRoot && isDebian12 && isInstalled("apt-get"));

export async function startPostgres({
	tls,
	host,
	version = newestPostgres,
	settings = {},
}: {
	/** Files of a certificate for the server. */
	tls?: { certificate: string; key: string };
	/** Another address of this machine at which it listens; clients come there by TLS, from anywhere. */
	host?: string;
	version?: PostgresVersion | "Debian's";
	settings?: Record<string, string>;
} = {}): Promise<PostgresServer> {
	const directory = await temporaryDirectory("postgres");
	await chmod(directory, 0o755);
	// The folder of a test run is root's alone.
	const above = dirname(directory);
	const { mode } = await stat(above);
	if ((mode & 0o001) === 0) await chmod(above, mode | 0o011);
	const [data, words] = [join(directory, "data"), join(directory, "password")];
	const programs = await programsOf(version, join(directory, "programs"));
	const password = randomBytes(12).toString("base64url");
	await writeFile(words, password);
	await mkdir(data, { mode: 0o700 });
	if (isRoot)
		for (const path of [data, words]) await chown(path, nobody, nobody);
	const program = (name: string) => join(programs, "bin", name);
	await done(
		...asNobody(program("initdb"), [
			"--auth=scram-sha-256",
			"--encoding=UTF8",
			"--no-locale",
			"--no-sync",
			"--username=postgres",
			`--pwfile=${words}`,
			`--pgdata=${data}`,
		]),
	);
	if (tls)
		for (const [name, from] of [
			["server.crt", tls.certificate],
			["server.key", tls.key],
		] as const) {
			await copyFile(from, join(data, name));
			await chmod(join(data, name), 0o600);
			if (isRoot) await chown(join(data, name), nobody, nobody);
		}
	if (host)
		await appendFile(
			join(data, "pg_hba.conf"),
			"hostssl all all all scram-sha-256\n",
		);
	const port = await freePort();
	const connect = async (
		database: string,
		user = "postgres",
		secret = password,
	) => {
		const client = new pg.Client({
			host: "127.0.0.1",
			port,
			user,
			password: secret,
			database,
			...(tls && { ssl: { rejectUnauthorized: false } }),
			types: { getTypeParser: () => String } as never,
		});
		client.on("error", () => undefined);
		await client.connect();
		return client;
	};
	const all = {
		port: String(port),
		listen_addresses: ["127.0.0.1", host].filter(Boolean).join(","),
		unix_socket_directories: "",
		fsync: "off",
		// Each test has a database, of which PgBouncer keeps three sessions.
		max_connections: "400",
		...(tls && { ssl: "on" }),
		...settings,
	};
	const [command, args] = asNobody(program("postgres"), [
		"-D",
		data,
		...Object.entries(all).flatMap(([name, value]) => [
			"-c",
			`${name}=${value}`,
		]),
	]);
	const server = await startServer(
		{
			name: "postgres",
			command,
			args,
			env: {},
			isReady: async () => {
				const client = await connect("postgres").catch(() => undefined);
				await client?.end();
				return client !== undefined;
			},
			stopTimeoutMs: 10_000,
		},
		directory,
	);
	const rows = async (sql: string, database = "postgres") => {
		const client = await connect(database);
		try {
			return await rowsOf(client, sql);
		} finally {
			await client.end();
		}
	};
	return Object.assign(server, {
		port,
		user: "postgres",
		password,
		rows,
		connect,
	});
}

/** Rows of a statement, or of the last one of several. */
export async function rowsOf(
	client: pg.Client,
	sql: string,
): Promise<(string | null)[][]> {
	const result = await client.query({ text: sql, rowMode: "array" });
	const last = Array.isArray(result) ? result.at(-1) : result;
	return last.rows;
}

export function asNobody(command: string, args: string[]): [string, string[]] {
	return isRoot
		? [
				"setpriv",
				[
					`--reuid=${nobody}`,
					`--regid=${nobody}`,
					"--clear-groups",
					command,
					...args,
				],
			]
		: [command, args];
}

/** Where everybody may read them: npm's are copied to `to`. */
async function programsOf(
	version: PostgresVersion | "Debian's",
	to: string,
): Promise<string> {
	if (version === "Debian's") {
		const program = `${debians}/bin/postgres`;
		installPackages({ [program]: "postgresql-15" }, console.error);
		return debians;
	}
	const from = await postgresPrograms(version, console.error);
	await cp(from, to, { recursive: true, verbatimSymlinks: true });
	await done("chmod", ["-R", "a+rX", to]);
	await linkLibraries(to);
	return to;
}
