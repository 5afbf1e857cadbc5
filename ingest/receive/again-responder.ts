import type { Msg, NatsConnection } from "@nats-io/transport-node";
// light-my-request: what fastify's inject is made of; it gives a request to a handler of node:http without a socket.
import inject from "light-my-request";
import { sendAgainSubject } from "../../packages/contracts/nats.ts";
import type {
	SendAgain,
	SendAgainAnswer,
} from "../../packages/contracts/sent-again.ts";
import type { Logger } from "../../packages/service/log.ts";
import { subscribeLasting } from "../../packages/service/nats/lasting-subscription.ts";
import { againSource, repeatHeader } from "./request/again-source.ts";
import { refusals } from "./request/refusal.ts";
import { type ReceiverParts, WebhookRequest } from "./webhook-request.ts";

/**
 * Takes stored events again, which the API asks for: as {@link WebhookRequest}s, so that memory, turns, the plan, a sender's key and the
 * commit are those of any event. All receivers share the questions.
 */
export class AgainResponder {
	readonly #receiver: ReceiverParts;
	readonly #log: Logger;
	readonly #stopping = new AbortController();
	readonly #open = new Set<Promise<void>>();

	constructor(
		connection: NatsConnection,
		receiver: ReceiverParts,
		log: Logger,
	) {
		this.#receiver = receiver;
		this.#log = log;
		subscribeLasting({
			...{ connection, log, subject: sendAgainSubject },
			queue: "receive",
			onMessage: (message) => this.#take(message),
			signal: this.#stopping.signal,
		});
	}

	/** Takes no more of them. */
	retire(): void {
		this.#stopping.abort();
	}

	/** Settles when each that was taken is answered. */
	async settled(): Promise<void> {
		await Promise.all(this.#open);
	}

	#take(message: Msg): void {
		const answered = this.#answer(message);
		this.#open.add(answered);
		void answered.then(() => this.#open.delete(answered));
	}

	async #answer(message: Msg): Promise<void> {
		try {
			const said = await sendAgain(Buffer.from(message.data), this.#receiver);
			message.respond(JSON.stringify(said));
		} catch (err) {
			// Nobody waits any more, if the connection is being closed.
			this.#log.warn({ err }, "an event could not be sent again");
		}
	}
}

/** @param payload a {@link SendAgain}, a line feed, and the stored text. */
export async function sendAgain(
	payload: Buffer,
	receiver: ReceiverParts,
): Promise<SendAgainAnswer> {
	const end = payload.indexOf("\n");
	const asked: SendAgain = JSON.parse(payload.toString("utf8", 0, end));
	const route = receiver.routes.find(asked.sourceKey);
	// A Source key names one account for ever. What another account's API asked for is no event of this one.
	if (route?.account !== asked.account) {
		const { status, code, message } = receiver.routes.mayLackRoutes
			? refusals.NotReady
			: refusals.UnknownURL;
		return { status, error: { code, message } };
	}
	const source = againSource(route, asked);
	const {
		statusCode,
		headers: answered,
		payload: text,
	} = await inject(
		(request, response) => {
			// What it says of itself, and of its body, isn't kept of the first; all of the body is there.
			Object.assign(request, { headers: source.headers, complete: true });
			new WebhookRequest(receiver, request, response, source).start(false);
		},
		{ method: "POST", url: "/", payload: payload.subarray(end + 1) },
	);
	const { event_id, error } = JSON.parse(text);
	return {
		status: statusCode,
		...(error && { error: { code: error.code, message: error.message } }),
		...(event_id && { eventID: event_id }),
		...(answered[repeatHeader] && { isRepeat: true }),
	};
}
