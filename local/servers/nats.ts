import { availableParallelism } from "node:os";
import { maxFrameBytes, serverStateSubject } from "../../contracts/nats.ts";
import { answersOk } from "../process/probe.ts";
import type { Program } from "../process/program.ts";
import { type NatsRole, natsPermissions, natsRoles } from "./nats-users.ts";

export interface NatsSettings {
	port: number;
	/** `/healthz`, `/varz`, `/jsz`, for probes and people. */
	monitorPort: number;
	storeDirectory: string;
	passwords: Record<NatsRole | "admin", string>;
}

/** nats-server with JetStream. The configuration, which holds the passwords, stands in a file. */
export function nats(
	settings: Pick<NatsSettings, "monitorPort"> & {
		command: string;
		configFile: string;
	},
): Program {
	return {
		name: "nats",
		command: settings.command,
		args: ["--config", settings.configFile],
		env: goEnvironment(),
		isReady: () =>
			answersOk(`http://127.0.0.1:${settings.monitorPort}/healthz`),
		stopTimeoutMs: 10_000,
	};
}

/**
 * Half of the processors for Go, which else takes all. Here NATS shares them with those it serves: a processor of Go's that has
 * nothing to do looks for work for a while, each time on one that somebody else is using (bench/README.md has the figures).
 */
function goEnvironment(): Record<string, string> {
	const processors = Math.max(1, Math.floor(availableParallelism() / 2));
	return { GOMAXPROCS: String(processors) };
}

/** nats-server's configuration. Its format takes JSON. */
export function natsConfig(settings: NatsSettings): string {
	const config = {
		server_name: "tidemill-local",
		listen: `127.0.0.1:${settings.port}`,
		http: `127.0.0.1:${settings.monitorPort}`,
		// A message's headers count, too.
		max_payload: maxFrameBytes + 64 * 1024,
		jetstream: {
			store_dir: settings.storeDirectory,
			// An acknowledged event is on the disk: without this it would be so up to two minutes later.
			sync_interval: "always",
		},
		system_account: "system",
		accounts: {
			system: {
				exports: [{ service: serverStateSubject, response: "stream" }],
			},
			tidemill: {
				jetstream: "enabled",
				imports: [
					{ service: { account: "system", subject: serverStateSubject } },
				],
				users: users(settings.passwords),
			},
		},
	};
	return `${JSON.stringify(config, undefined, "\t")}\n`;
}

/** What a role is given as `NATS_URL`. */
export function natsUrl(
	{ port, passwords }: Pick<NatsSettings, "port" | "passwords">,
	user: NatsRole | "admin",
): string {
	return `nats://${user}:${passwords[user]}@127.0.0.1:${port}`;
}

function users(passwords: NatsSettings["passwords"]) {
	return [
		{ user: "admin", password: passwords.admin },
		...natsRoles.map((role) => {
			const { publish, subscribe, allowResponses } = natsPermissions[role];
			return {
				user: role,
				password: passwords[role],
				permissions: {
					publish,
					subscribe: { allow: subscribe },
					...(allowResponses && {
						allow_responses: { max: 1, expires: "5m" },
					}),
				},
			};
		}),
	];
}
