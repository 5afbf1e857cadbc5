import { jetstreamManager } from "@nats-io/jetstream";
import type {
	Msg,
	NatsConnection,
	Subscription,
} from "@nats-io/transport-node";
import { bucket, makeSubject } from "../contracts/nats.ts";
import type { Logger } from "../service/log.ts";
import { isStreamNotFound, onReconnect } from "../service/nats/connection.ts";
import { pause } from "../service/pause.ts";
import {
	type MakeAnswer,
	madeNames,
	make,
	republished,
	streamOf,
} from "./made-streams.ts";

const lookEveryMs = 1_000;
/** Roles in other accounts hear of changes in these. */
const watched = [
	bucket.routes,
	bucket.sourceKeys,
	bucket.archives,
	bucket.ledger,
	bucket.deliveries,
];

interface StreamMakerOptions {
	connection: NatsConnection;
	replicas: number;
	log: Logger;
}

/**
 * Makes the streams of the other roles, each when its role asks: what nobody uses takes no room from events. A role names what it
 * wants, and archive alone chooses the settings. Returns at the signal. NATS may give its users their accounts while archive is
 * connected.
 */
export async function makeStreams(
	options: StreamMakerOptions,
	signal: AbortSignal,
): Promise<void> {
	const { connection, log } = options;
	let isDone = false;
	let hasWarned = false;
	// It may have been rebuilt.
	void onReconnect(connection, () => {
		isDone = false;
	});
	let asked: Subscription | undefined;
	while (!signal.aborted) {
		try {
			if (!asked || asked.isClosed()) {
				asked = answerRoles(options);
				isDone = false;
				await connection.flush();
			}
			// Users of one account, as earlier versions had them, may not listen. Their roles make their streams themselves.
			if (asked.isClosed()) {
				if (!hasWarned) log.warn(sharedAccount);
				hasWarned = true;
			} else if (!isDone) {
				isDone = true;
				await republish(connection);
			}
		} catch (error) {
			isDone = false;
			log.warn({ err: error }, "can't make the roles' streams in NATS");
		}
		await pause(lookEveryMs, signal);
	}
	asked?.unsubscribe();
}

const sharedAccount =
	'NATS has the users of an earlier version, all in one account: who has the password of one role can reach other roles\' streams. Give NATS the accounts of files/nats.conf (docs/install.md, "Your own NATS").';

/** Makes what a role asks for. One of several archives answers. */
export function answerRoles(options: StreamMakerOptions): Subscription {
	return options.connection.subscribe(makeSubject("*"), {
		queue: "archive",
		callback: (error, message) => {
			if (!error) void answer(options, message);
		},
	});
}

async function answer(
	{ connection, replicas, log }: StreamMakerOptions,
	message: Msg,
): Promise<void> {
	const name = message.subject.slice(makeSubject("").length);
	const say = (said: MakeAnswer) => message.respond(JSON.stringify(said));
	if (!madeNames.includes(name))
		return void say({ ok: false, error: `no role has a stream "${name}"` });
	try {
		await make(connection, name, replicas);
		say({ ok: true });
	} catch (error) {
		log.warn({ err: error, name }, "can't make a role's stream in NATS");
		const { message } = error as Error;
		if (!connection.isClosed()) say({ ok: false, error: message });
	}
}

/** Earlier versions made the buckets without it. */
async function republish(connection: NatsConnection): Promise<void> {
	const { streams } = await jetstreamManager(connection, { checkAPI: false });
	for (const name of watched)
		try {
			const { config } = await streams.info(streamOf(name));
			if (!config.republish)
				await streams.update(config.name, { ...config, ...republished(name) });
		} catch (error) {
			// It is made later, with this setting.
			if (!isStreamNotFound(error)) throw error;
		}
}
