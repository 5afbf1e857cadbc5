import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { createConnection } from "node:net";
import { join } from "node:path";
import { connect as tlsConnect } from "node:tls";
import type { NatsConnection } from "@nats-io/transport-node";
import { resolveBinaries } from "../../../local/binaries/resolve.ts";
import { freePort } from "../../../local/machine/ports.ts";
import { answersOk } from "../../../local/machine/program.ts";
import { passwordVariable } from "../../../operator/install/nats-config.ts";
import { natsUsers } from "../../../operator/install/nats-users.ts";
import {
	type SecretData,
	secretChanges,
} from "../../../operator/install/secret-changes.ts";
import { connectNats } from "../../../packages/service/nats/connection.ts";
import { Settings } from "../../../packages/service/settings.ts";
import { log } from "../fixtures/data-plane/running-archive.ts";
import {
	startServer,
	storeDirectory,
	type TestServer,
} from "../servers/test-server.ts";
import { examples, render } from "./render.ts";

type User = "admin" | "archive" | "operator" | "receive";

/** Three servers as the chart runs them, with the Secrets of its setup. */
export interface NatsCluster {
	/** By the names of their Pods. */
	servers: Map<string, TestServer>;
	connectAs(user: User): Promise<NatsConnection>;
	/** Settings with which a role connects. */
	environmentOf(user: User): { NATS_URL: string; NATS_CA_FILE: string };
	/** Puts another certificate of the same authority where the servers read theirs; returns its fingerprint. */
	renewCertificate(): Promise<string>;
	/** Puts something there that is none. */
	breakCertificate(): Promise<void>;
	/** Fingerprints of the certificates that the servers show. */
	certificates(): Promise<string[]>;
	stop(): Promise<void>;
}

export async function startNatsCluster(): Promise<NatsCluster> {
	const directory = await storeDirectory("chart-nats");
	const objects = await render(
		`--values=${examples.get("try-out")}`,
		"--set=nats.replicas=3",
		// As it is by default.
		"--set=nats.maxFileStoreBytes=12884901888,nats.storage.size=16Gi",
	);
	const setup = objects.find(
		({ kind, metadata }) =>
			kind === "Job" && metadata.name.startsWith("tidemill-setup-"),
	)!;
	const named = setup.spec.template.spec.containers[0].args
		.find((arg) => arg.startsWith("--nats-hosts="))!
		.split("=")[1]!
		.split(",");
	// Localhost stands for the names of Pods.
	const hosts = [...named, "localhost"];
	const secrets = await secretsOf(hosts);
	const { data } = objects.find(
		({ kind, metadata }) =>
			kind === "ConfigMap" && metadata.name === "tidemill-nats",
	)!;
	const names = [0, 1, 2].map((i) => `tidemill-nats-${i}`);
	const ports = await Promise.all(
		names.map(async () => ({
			client: await freePort(),
			cluster: await freePort(),
			monitor: await freePort(),
		})),
	);
	const file = (key: string) => join(directory, key);
	for (const [key, text] of Object.entries(secrets.get("tls")!))
		await writeFile(file(key), text);
	const { "nats-server": command } = await resolveBinaries(["nats-server"]);
	const passwords = secrets.get("passwords")!;
	// As the reloader writes it.
	await writeFile(
		file("users.conf"),
		natsUsers
			.map((user) => `${passwordVariable(user)}: "${passwords[user]}"\n`)
			.join(""),
	);
	const servers = await Promise.all(
		names.map(async (name, i) => {
			const { client, cluster, monitor } = ports[i]!;
			const text = names.reduce(
				(result, peer, j) =>
					result.replace(
						`${peer}.tidemill-nats-headless:6222`,
						`localhost:${ports[j]!.cluster}`,
					),
				(data["nats.conf"] as string)
					.replace("0.0.0.0:4222", `127.0.0.1:${client}`)
					.replace("0.0.0.0:6222", `127.0.0.1:${cluster}`)
					.replace("0.0.0.0:8222", `127.0.0.1:${monitor}`)
					.replace("../../run/nats/users.conf", "users.conf")
					.replaceAll("/etc/nats-tls", directory)
					.replace('"/data"', JSON.stringify(file(name))),
			);
			await writeFile(file(`${name}.conf`), text, { mode: 0o600 });
			await mkdir(file(`${name}-log`));
			return startServer(
				{
					name,
					command,
					args: ["--config", file(`${name}.conf`)],
					env: {
						NATS_SERVER_NAME: `"${name}"`,
					},
					// As the chart's readiness probe.
					isReady: () =>
						answersOk(
							`http://127.0.0.1:${monitor}/healthz?js-server-only=true`,
						),
					stopTimeoutMs: 10_000,
				},
				file(`${name}-log`),
			);
		}),
	);
	const environmentOf = (user: User) => ({
		NATS_URL: ports
			.map(
				({ client }) => `tls://${user}:${passwords[user]}@localhost:${client}`,
			)
			.join(","),
		NATS_CA_FILE: file("ca.crt"),
	});
	return {
		servers: new Map(names.map((name, i) => [name, servers[i]!])),
		environmentOf,
		connectAs: (user) =>
			connectNats(new Settings(environmentOf(user)), user, log),
		renewCertificate: async () => {
			// One more name, so setup issues another certificate.
			const renewed = (await secretsOf([...hosts, "more"], secrets)).get(
				"tls",
			)!;
			for (const key of ["tls.crt", "tls.key"])
				await writeFile(file(key), renewed[key]!);
			return new X509Certificate(renewed["tls.crt"]!).fingerprint256;
		},
		breakCertificate: () => writeFile(file("tls.crt"), "none"),
		certificates: () =>
			Promise.all(ports.map(({ client }) => servedCertificate(client))),
		stop: async () => {
			await Promise.all(servers.map((server) => server.stop()));
			await rm(directory, { recursive: true, force: true });
		},
	};
}

/** @param existing of which the certificate is renewed. */
async function secretsOf(
	natsHosts: string[],
	existing = new Map<string, SecretData>(),
): Promise<Map<string, SecretData>> {
	const changes = await secretChanges(
		{
			natsPasswords: "passwords",
			natsTls: "tls",
			natsHosts,
			sealKey: undefined,
			consoleKey: undefined,
			s3Keys: undefined,
		},
		existing,
		Date.now(),
	);
	return new Map([
		...existing,
		...changes.map(({ name, data }) => [name, data] as const),
	]);
}

/** As the server shows it to who connects: NATS says a line first, and then waits for the handshake. */
async function servedCertificate(port: number): Promise<string> {
	const plain = createConnection({ port, host: "127.0.0.1" });
	await once(plain, "data");
	const socket = tlsConnect({ socket: plain, rejectUnauthorized: false });
	await once(socket, "secureConnect");
	const { raw } = socket.getPeerX509Certificate()!;
	socket.destroy();
	return new X509Certificate(raw).fingerprint256;
}
