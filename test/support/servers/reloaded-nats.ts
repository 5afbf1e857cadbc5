import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { resolveBinaries } from "../../../local/binaries/resolve.ts";
import { freePort } from "../../../local/machine/ports.ts";
import { answersOk } from "../../../local/machine/program.ts";
import {
	natsConfig,
	passwordVariable,
} from "../../../operator/install/nats-config.ts";
import type { NatsUser } from "../../../operator/install/nats-users.ts";
import { mountSecret } from "../faults/mounted-secret.ts";
import { startServer, storeDirectory, type TestServer } from "./test-server.ts";
import { startTidemill } from "./tidemill-process.ts";

/** NATS as the chart runs it, with its passwords in a mounted Secret and `tidemill nats-reloader` beside it. */
export interface ReloadedNats extends TestServer {
	/** Without a user. */
	address: string;
	/** URL of the user who may do everything, as of now. */
	readonly url: string;
	/** Replaces what the Secret holds. */
	mount(passwords: Partial<Record<NatsUser, string>>): void;
	/** The same with the certificate's. */
	mountTls(files: Record<string, string>): void;
	/** Lines of `tidemill nats-reloader`. */
	reloaderLog: string[];
}

interface ReloadedOptions {
	/** tls.crt, tls.key and ca.crt of the Secret with the certificate. */
	tls?: Record<string, string>;
	serverName?: string;
	port?: number;
	/** nats-server's setting of the same name. */
	cluster?: object;
	/** A disk of its own for what it stores. */
	disk?: string;
}

/** Three of them as one cluster. */
export async function startReloadedCluster(
	passwords: Partial<Record<NatsUser, string>>,
): Promise<ReloadedNats[]> {
	const ports = await Promise.all(["a", "b", "c"].map(() => freePort()));
	const routes = ports.map((port) => `nats://127.0.0.1:${port}`);
	return Promise.all(
		ports.map((port, n) =>
			startReloadedNats(passwords, {
				serverName: `reloaded-${n}`,
				cluster: { name: "reloaded", listen: `127.0.0.1:${port}`, routes },
			}),
		),
	);
}

export async function startReloadedNats(
	passwords: Partial<Record<NatsUser, string>>,
	options: ReloadedOptions = {},
): Promise<ReloadedNats> {
	const { tls, cluster, disk, serverName = "reloaded" } = options;
	const directory = await storeDirectory("reloaded-nats");
	const { "nats-server": command } = await resolveBinaries(["nats-server"]);
	const [port, monitorPort, healthPort] = [
		await freePort(),
		await freePort(),
		await freePort(),
	];
	const monitor = `http://127.0.0.1:${monitorPort}`;
	const config = join(directory, "nats.conf");
	const certificates = join(directory, "tls");
	if (tls) mountSecret(certificates, tls);
	const whole = {
		http: `127.0.0.1:${monitorPort}`,
		...natsConfig({
			serverName,
			listen: `127.0.0.1:${port}`,
			storeDirectory: join(disk ?? directory, "store"),
			password: (user) => `$${passwordVariable(user)}`,
		}),
		...(cluster && { cluster }),
		...(tls && {
			tls: {
				cert_file: join(certificates, "tls.crt"),
				key_file: join(certificates, "tls.key"),
			},
		}),
	};
	const lines = Object.entries(whole).map(
		([key, value]) => `${key}: ${JSON.stringify(value)}\n`,
	);
	await writeFile(
		config,
		`include "users.conf"\n${lines.join("").replaceAll(/"(\$NATS_PASSWORD_[A-Z_]+)"/g, "$1")}`,
	);
	const secret = join(directory, "passwords");
	const archives = join(directory, "archive");
	let current = passwords;
	const mount = () => {
		mountSecret(secret, current as Record<string, string>);
		const own = Object.entries(current).filter(([user]) =>
			/^archive(-b)?$/.test(user),
		);
		mountSecret(archives, Object.fromEntries(own));
	};
	mount();
	const reloader = startTidemill(
		[
			"nats-reloader",
			`--passwords=${secret}`,
			`--users-file=${join(directory, "users.conf")}`,
			`--config=${config}`,
			`--monitor=${monitor}`,
			...(tls ? [`--tls=${certificates}`] : []),
			...(disk ? [`--data=${disk}`] : []),
		],
		{
			HEALTH_PORT: String(healthPort),
			NATS_URL: `${tls ? "tls" : "nats"}://127.0.0.1:${port}`,
			NATS_USERS_DIR: archives,
			STREAM_REPLICAS: cluster ? "3" : "1",
			...(tls && { NATS_CA_FILE: join(certificates, "ca.crt") }),
		},
	);
	const reloaderLog: string[] = [];
	reloader.onLine = (line) => reloaderLog.push(line);
	// As the chart's startup probe.
	for (;;) {
		if (await answersOk(`http://127.0.0.1:${healthPort}/readyz`)) break;
		await new Promise((resolve) => setTimeout(resolve, 50));
	}
	const server = await startServer(
		{
			name: "nats",
			command,
			args: ["--config", config],
			env: {},
			// One server of a cluster is healthy once the others are there.
			isReady: () => answersOk(`${monitor}/${cluster ? "varz" : "healthz"}`),
			stopTimeoutMs: 10_000,
		},
		directory,
	);
	return {
		...server,
		address: `nats://127.0.0.1:${port}`,
		get url() {
			return `nats://admin:${current.admin}@127.0.0.1:${port}`;
		},
		mount: (changed) => {
			current = changed;
			mount();
		},
		mountTls: (files) => mountSecret(certificates, files),
		reloaderLog,
		stop: async () => {
			// As Kubernetes stops them.
			await server.stop();
			reloader.child.kill("SIGTERM");
			await reloader.ended;
		},
	};
}
