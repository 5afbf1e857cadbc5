import type { NatsConnection } from "@nats-io/transport-node";
import {
	reloadSubject,
	serverStateSubject,
} from "../packages/contracts/nats.ts";
import type { Logger } from "../packages/service/log.ts";
import { pause } from "../packages/service/pause.ts";

/**
 * Makes NATS's servers read their certificates again from time to time. By themselves they read them only at their start, and
 * cert-manager may replace the files at any time. Connections stay. If a file can't be read, its server changes nothing.
 */
export async function reloadNats(
	nats: NatsConnection,
	intervalMs: number,
	log: Logger,
	signal: AbortSignal,
): Promise<void> {
	for (;;) {
		await pause(intervalMs, signal);
		if (signal.aborted) return;
		try {
			for (const { server, error } of await reloadServers(nats))
				if (error)
					log.warn(
						{ server, reason: error },
						"a NATS server could not read its configuration anew, and goes on with what it has. Check its certificate's Secret",
					);
		} catch (err) {
			log.warn({ err }, "NATS could not be asked to read its certificates");
		}
	}
}

/** Each server's name, and why it could not; undefined if it could. */
export async function reloadServers(
	nats: NatsConnection,
): Promise<{ server: string; error: string | undefined }[]> {
	const answers = await nats.requestMany(serverStateSubject, "", {
		strategy: "stall",
		maxWait: 5_000,
		stall: 1_000,
	});
	const servers: { id: string; name: string }[] = [];
	for await (const answer of answers)
		servers.push(answer.json<{ server: (typeof servers)[number] }>().server);
	return Promise.all(
		servers.map(async ({ id, name }) => {
			const answer = await nats.request(reloadSubject(id), "", {
				timeout: 30_000,
			});
			const { error } = answer.json<{ error?: { description: string } }>();
			return { server: name, error: error?.description };
		}),
	);
}
