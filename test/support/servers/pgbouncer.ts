import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import {
	installPackages,
	isInstalled,
} from "../../../local/binaries/debian-packages.ts";
import { freePort } from "../../../local/machine/ports.ts";
import { asNobody, isRoot, type PostgresServer } from "./postgres.ts";
import {
	startServer,
	type TestServer,
	temporaryDirectory,
} from "./test-server.ts";

const program = "/usr/sbin/pgbouncer";

/** Debian's package, which only root can install. */
export const isPgBouncerHere =
	isInstalled(program) || (isRoot && isInstalled("apt-get"));

/** Debian's PgBouncer in transaction mode: each transaction gets whatever session of the server is free. */
export async function startPgBouncer({
	port: serverPort,
	user,
	password,
}: PostgresServer): Promise<TestServer & { port: number }> {
	installPackages({ [program]: "pgbouncer" }, console.error);
	const directory = await temporaryDirectory("pgbouncer");
	await chmod(directory, 0o755);
	const [port, users, file] = [
		await freePort(),
		join(directory, "users"),
		join(directory, "pgbouncer.ini"),
	];
	await writeFile(users, `"${user}" "${password}"\n`);
	await writeFile(
		file,
		[
			"[databases]",
			`* = host=127.0.0.1 port=${serverPort}`,
			"[pgbouncer]",
			"listen_addr = 127.0.0.1",
			`listen_port = ${port}`,
			"unix_socket_dir =",
			"pool_mode = transaction",
			// A transaction never gets the session that the one before it had, if another is free.
			"server_round_robin = 1",
			"min_pool_size = 3",
			// Each test has a database, and their sessions together would be more than the server has.
			"autodb_idle_timeout = 10",
			"auth_type = scram-sha-256",
			`auth_file = ${users}`,
			`auth_user = ${user}`,
		].join("\n"),
	);
	const [command, args] = asNobody(program, [file]);
	const server = await startServer(
		{
			name: "pgbouncer",
			command,
			args,
			env: {},
			isReady: async () => {
				const client = new pg.Client({
					host: "127.0.0.1",
					port,
					user,
					password,
					database: "postgres",
				});
				client.on("error", () => undefined);
				const isReady = await client.connect().then(
					() => true,
					() => false,
				);
				await client.end().catch(() => undefined);
				return isReady;
			},
			stopTimeoutMs: 10_000,
		},
		directory,
	);
	return Object.assign(server, { port });
}
