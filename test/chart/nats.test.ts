import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "@nats-io/transport-node";
import { expect, onTestFinished, test } from "vitest";
import {
	type SecretData,
	secretChanges,
} from "../../install/setup/secret-changes.ts";
import { resolveBinaries } from "../../local/binaries/resolve.ts";
import { freePort } from "../../local/ports.ts";
import { answersOk } from "../../local/process/probe.ts";
import { examples, render } from "../support/chart/render.ts";
import { startServer, storeDirectory } from "../support/servers/test-server.ts";

test("three servers with the chart's configuration and setup's Secrets form a cluster that syncs every write", async () => {
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
	const connection = await connect({
		servers: `127.0.0.1:${ports[0]!.client}`,
		user: "receive",
		pass: passwords.receive!,
		inboxPrefix: "_INBOX_receive",
		tls: {
			ca: secrets.get("tls")!["ca.crt"]!,
			// @ts-expect-error Node's option, which the client passes on.
			servername: "tidemill-nats",
		},
	});
	onTestFinished(() => connection.close());
	const answers: unknown[] = [];
	for await (const answer of await connection.requestMany(
		"$SYS.REQ.SERVER.PING.JSZ",
		undefined,
		{ strategy: "count", maxMessages: 3, maxWait: 10_000 },
	))
		answers.push(answer.json<{ data: { config: unknown } }>().data.config);
	expect(answers).toEqual(
		Array(3).fill(
			expect.objectContaining({
				sync_always: true,
				max_storage: 12_884_901_888,
			}),
		),
	);
});

async function secretsOf(
	natsHosts: string[],
): Promise<Map<string, SecretData>> {
	const changes = await secretChanges(
		{
			natsPasswords: "passwords",
			natsTls: "tls",
			natsHosts,
			sealKey: undefined,
			s3Keys: undefined,
		},
		new Map(),
		Date.now(),
	);
	return new Map(changes.map(({ name, data }) => [name, data]));
}
