import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { createConnection } from "node:net";
import { join } from "node:path";
import { connect as tlsConnect } from "node:tls";
import { connect } from "@nats-io/transport-node";
import { expect, onTestFinished, test } from "vitest";
import {
	type SecretData,
	secretChanges,
} from "../../install/setup/secret-changes.ts";
import { resolveBinaries } from "../../local/binaries/resolve.ts";
import { freePort } from "../../local/ports.ts";
import { answersOk } from "../../local/process/probe.ts";
import { reloadServers } from "../../operator/nats/reload.ts";
import { examples, render } from "../support/chart/render.ts";
import { startServer, storeDirectory } from "../support/servers/test-server.ts";

test("three servers with the chart's configuration and setup's Secrets form a cluster that syncs every write, and read a renewed certificate when the operator asks", async () => {
	const directory = await storeDirectory("chart-nats");
	const objects = await render(
		`--values=${examples.get("try-out")}`,
		"--set=nats.replicas=3",
	);
	const setup = objects.find(
		({ kind, metadata }) =>
			kind === "Job" && metadata.name.startsWith("tidemill-setup-"),
	)!;
	const hosts = setup.spec.template.spec.containers[0].args
		.find((arg: string) => arg.startsWith("--nats-hosts="))
		.split("=")[1]
		.split(",");
	// Localhost stands for the names of Pods.
	const secrets = await secretsOf([...hosts, "localhost"]);
	for (const [key, text] of Object.entries(secrets.get("tls")!))
		await writeFile(join(directory, key), text);
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
	const { "nats-server": command } = await resolveBinaries(["nats-server"]);
	const passwords = secrets.get("passwords")!;
	await Promise.all(
		names.map(async (name, i) => {
			const { client, cluster, monitor } = ports[i]!;
			const configFile = join(directory, `${name}.conf`);
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
					.replaceAll("/etc/nats-tls", directory)
					.replace('"/data"', JSON.stringify(join(directory, name))),
			);
			await writeFile(configFile, text, { mode: 0o600 });
			const logs = join(directory, `${name}-log`);
			await mkdir(logs);
			const server = await startServer(
				{
					name,
					command,
					args: ["--config", configFile],
					env: {
						NATS_SERVER_NAME: `"${name}"`,
						...Object.fromEntries(
							Object.entries(passwords).map(([user, password]) => [
								`NATS_PASSWORD_${user.toUpperCase()}`,
								`"${password}"`,
							]),
						),
					},
					// As the chart's readiness probe.
					isReady: () =>
						answersOk(
							`http://127.0.0.1:${monitor}/healthz?js-server-only=true`,
						),
					stopTimeoutMs: 10_000,
				},
				logs,
			);
			onTestFinished(() => server.stop());
		}),
	);
	const connectAs = async (user: "receive" | "operator") => {
		const connection = await connect({
			servers: `127.0.0.1:${ports[0]!.client}`,
			user,
			pass: passwords[user]!,
			inboxPrefix: `_INBOX_${user}`,
			tls: {
				ca: secrets.get("tls")!["ca.crt"]!,
				// @ts-expect-error Node's option, which the client passes on.
				servername: "tidemill-nats",
			},
		});
		onTestFinished(() => connection.close());
		return connection;
	};
	const connection = await connectAs("receive");
	const configs = async () => {
		const answers: unknown[] = [];
		for await (const answer of await connection.requestMany(
			"$SYS.REQ.SERVER.PING.JSZ",
			undefined,
			{ strategy: "count", maxMessages: 3, maxWait: 10_000 },
		))
			answers.push(answer.json<{ data: { config: unknown } }>().data.config);
		return answers;
	};
	const inSync = Array(3).fill(
		expect.objectContaining({
			sync_always: true,
			max_storage: 12_884_901_888,
		}),
	);
	expect(await configs()).toEqual(inSync);

	// One more name, so setup issues another certificate of the same authority.
	const renewed = (
		await secretsOf([...hosts, "localhost", "more"], secrets)
	).get("tls")!;
	for (const key of ["tls.crt", "tls.key"])
		await writeFile(join(directory, key), renewed[key]!);
	const { fingerprint256 } = new X509Certificate(renewed["tls.crt"]!);
	const served = () =>
		Promise.all(ports.map(({ client }) => servedCertificate(client)));
	expect(await served()).not.toContain(fingerprint256);
	const reloaded = await reloadServers(await connectAs("operator"));
	expect(reloaded.toSorted((a, b) => (a.server < b.server ? -1 : 1))).toEqual(
		names.map((server) => ({ server, error: undefined })),
	);
	expect(await served()).toEqual(Array(3).fill(fingerprint256));
	expect(connection.isClosed()).toBe(false);
	expect(await configs()).toEqual(inSync);
	await writeFile(join(directory, "tls.crt"), "none");
	for (const { error } of await reloadServers(await connectAs("operator")))
		expect(error).toMatch(/tls/i);
	expect(await served()).toEqual(Array(3).fill(fingerprint256));
});

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
