import { availableParallelism } from "node:os";
// @nats-io/transport-node: the official client, successor of the `nats` package.
import { connect } from "@nats-io/transport-node";
import { natsConfig } from "../../operator/install/nats-config.ts";
import type { NatsRole, NatsUser } from "../../operator/install/nats-users.ts";
import type { ChildProgram } from "../machine/program.ts";

interface NatsSettings {
	port: number;
	storeDirectory: string;
	passwords: Record<"admin" | NatsRole, string> &
		Partial<Record<NatsUser, string>>;
}

/**
 * nats-server with JetStream. Its configuration holds the passwords, so it is in a file. It has no monitoring port, which would
 * answer everybody.
 */
export function nats(
	settings: Pick<NatsSettings, "port" | "passwords"> & {
		command: string;
		configFile: string;
	},
): ChildProgram {
	return {
		name: "nats",
		command: settings.command,
		args: ["--config", settings.configFile],
		env: goEnvironment(),
		isReady: () => hasJetStream(settings),
		stopTimeoutMs: 10_000,
	};
}

async function hasJetStream({
	port,
	passwords,
}: Pick<NatsSettings, "port" | "passwords">): Promise<boolean> {
	const timeout = 1_000;
	try {
		const connection = await connect({
			servers: `127.0.0.1:${port}`,
			user: "admin",
			pass: passwords.admin,
			tls: null,
			reconnect: false,
			timeout,
		});
		try {
			const answer = await connection.request("$JS.API.INFO", undefined, {
				timeout,
			});
			return answer.json<{ error?: unknown }>().error === undefined;
		} finally {
			await connection.close();
		}
	} catch {
		return false;
	}
}

/**
 * Limits Go to half of the processors. Here NATS shares them with its clients, and an idle processor of Go searches for work
 * for a while on a core that a client could use (figures in tools/bench/README.md).
 */
function goEnvironment(): Record<string, string> {
	const processors = Math.max(1, Math.floor(availableParallelism() / 2));
	return { GOMAXPROCS: String(processors) };
}

/** The text of nats-server's configuration. */
export function natsConfigText(settings: NatsSettings): string {
	const config = natsConfig({
		serverName: "tidemill-local",
		listen: `127.0.0.1:${settings.port}`,
		storeDirectory: settings.storeDirectory,
		password: (user) => settings.passwords[user],
	});
	return `${JSON.stringify(config, undefined, "\t")}\n`;
}

/** A user's `NATS_URL`. */
export function natsUrl(
	{ port, passwords }: Pick<NatsSettings, "port" | "passwords">,
	user: NatsUser,
): string {
	return `nats://${user}:${passwords[user]}@127.0.0.1:${port}`;
}
