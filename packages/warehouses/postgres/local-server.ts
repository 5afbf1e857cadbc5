import { execFile } from "node:child_process";
import { chmod, chown, cp, mkdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import {
	linkLibraries,
	newestPostgres,
	postgresPrograms,
} from "../binaries/postgres.ts";
import { writeWhole } from "../machine/home.ts";
import type { ChildProgram } from "../machine/program.ts";
import type { Kubectl } from "./resources.ts";

/** The database of a local Postgres, for whose user make up writes a Secret. */
export interface LocalPostgres {
	port: number;
	user: string;
	password: string;
	database: string;
}

/** Postgres refuses to run as root. */
const nobody = 65_534;
const isRoot = process.getuid?.() === 0;

/** Makes the database at the first start. Returns the server, which only this machine reaches. */
export async function postgres(
	directory: string,
	{ port, user, password, database }: LocalPostgres,
	onInstall: (text: string) => void,
): Promise<ChildProgram> {
	const programs = await reachable(
		await postgresPrograms(newestPostgres, onInstall),
	);
	const data = join(directory, "data");
	if (!(await stat(join(data, "PG_VERSION")).catch(() => undefined))) {
		// What a start that was killed has left.
		await rm(directory, { recursive: true, force: true });
		await mkdir(data, { recursive: true, mode: 0o700 });
		const words = join(directory, "password");
		writeWhole(words, password);
		if (isRoot)
			for (const path of [directory, data, words])
				await chown(path, nobody, nobody);
		await promisify(execFile)(
			...unprivileged(join(programs, "bin/initdb"), [
				"--auth=scram-sha-256",
				"--encoding=UTF8",
				"--no-locale",
				`--username=${user}`,
				`--pwfile=${words}`,
				`--pgdata=${data}`,
			]),
		);
		await rm(words);
	}
	const [command, args] = unprivileged(join(programs, "bin/postgres"), [
		"-D",
		data,
		...["-c", `port=${port}`],
		...["-c", "listen_addresses=127.0.0.1"],
		...["-c", "unix_socket_directories="],
	]);
	return {
		name: "postgres",
		command,
		args,
		env: {},
		isReady: () => hasDatabase({ port, user, password, database }),
		stopTimeoutMs: 10_000,
	};
}

/** The programs, where the user that they run as may start them: root's cache is often root's alone. */
async function reachable(programs: string): Promise<string> {
	const place = isRoot
		? `/var/cache/tidemill/postgres-${newestPostgres}`
		: programs;
	if (isRoot && !(await stat(place).catch(() => undefined))) {
		await mkdir(dirname(place), { recursive: true, mode: 0o755 });
		const part = `${place}.${process.pid}`;
		await cp(programs, part, { recursive: true, verbatimSymlinks: true });
		await promisify(execFile)("chmod", ["-R", "a+rX", part]);
		await rename(part, place);
	}
	await linkLibraries(place);
	for (const name of ["initdb", "postgres"])
		await chmod(join(place, "bin", name), 0o755);
	return place;
}

/** As root, as another user who may still reach what root's folders hold. */
function unprivileged(command: string, args: string[]): [string, string[]] {
	if (!isRoot) return [command, args];
	const ids = [`--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"];
	const caps = ["--inh-caps=+dac_override", "--ambient-caps=+dac_override"];
	return ["setpriv", [...ids, ...caps, command, ...args]];
}

async function hasDatabase({
	port,
	user,
	password,
	database,
}: LocalPostgres): Promise<boolean> {
	const client = new pg.Client({
		host: "127.0.0.1",
		port,
		user,
		password,
		database,
		connectionTimeoutMillis: 1_000,
	});
	client.on("error", () => undefined);
	try {
		await client.connect();
		return true;
	} catch {
		return false;
	} finally {
		await client.end().catch(() => undefined);
	}
}

/** Writes a Secret as CloudNativePG does, with the label that lets Destinations of its namespace use it. */
export async function installPostgresSecret(
	kubectl: Kubectl,
	directory: string,
	{ port, user, password, database }: LocalPostgres,
): Promise<void> {
	const file = join(directory, "secret.json");
	writeWhole(
		file,
		JSON.stringify({
			apiVersion: "v1",
			kind: "Secret",
			type: "kubernetes.io/basic-auth",
			metadata: {
				name: "postgres",
				namespace: "default",
				labels: { "tidemill.dev/use": "true" },
			},
			stringData: {
				username: user,
				password,
				host: "127.0.0.1",
				port: String(port),
				dbname: database,
			},
		}),
	);
	await kubectl(
		"apply",
		"--server-side",
		"--force-conflicts",
		"--field-manager=tidemill-local",
		`--filename=${file}`,
	);
	await rm(file);
}

/** The variables by which psql and other clients find it. */
export function postgresVariables({
	port,
	user,
	password,
	database,
}: LocalPostgres): Record<string, string> {
	return {
		PGHOST: "127.0.0.1",
		PGPORT: String(port),
		PGUSER: user,
		PGPASSWORD: password,
		PGDATABASE: database,
	};
}
