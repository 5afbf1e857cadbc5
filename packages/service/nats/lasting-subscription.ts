import type { Msg, NatsConnection } from "@nats-io/transport-node";
import type { Logger } from "../log.ts";
import { pause } from "../pause.ts";

const retryMs = 5_000;

export interface LastingSubscription {
	connection: Pick<NatsConnection, "isClosed" | "subscribe">;
	subject: string;
	/** Processes of one name share the messages. */
	queue: string;
	log: Logger;
	onMessage(message: Msg): void;
	/** Ends it. */
	signal: AbortSignal;
}

/**
 * Takes what comes on a subject until the signal fires, also if NATS refuses it for now: during an upgrade a process may be newer than what
 * NATS permits, and the client forgets a subscription that was refused.
 */
export function subscribeLasting(lasting: LastingSubscription): void {
	const { connection, subject, queue, log, onMessage, signal } = lasting;
	const again = async () => {
		await pause(retryMs * (0.5 + Math.random()), signal);
		signal.removeEventListener("abort", end);
		end();
		if (!signal.aborted && !connection.isClosed()) subscribeLasting(lasting);
	};
	const subscription = connection.subscribe(subject, {
		queue,
		callback: (error, message) => {
			if (!error) return onMessage(message);
			log.error(
				{ err: error, subject },
				`requests can't be received. If NATS refuses the subject, give its user for ${queue} the permissions of this version`,
			);
			void again();
		},
	});
	const end = () => subscription.unsubscribe();
	signal.addEventListener("abort", end, { once: true });
}
