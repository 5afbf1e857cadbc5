import type { Msg, NatsConnection } from "@nats-io/transport-node";
// light-my-request: what fastify's inject is made of; it gives a request to a handler of node:http without a socket.
import inject from "light-my-request";
import { sendAgainSubject } from "../../packages/contracts/nats.ts";
import type {
	SendAgain,
	SendAgainAnswer,
} from "../../packages/contracts/sent-again.ts";
import type { Logger } from "../../packages/service/log.ts";
import { againRequest, repeatHeader } from "./request/again-source.ts";
import { refusals } from "./request/refusal.ts";
import { type ReceiverParts, WebhookRequest } from "./webhook-request.ts";

/**
 * Takes stored events again, which the API asks for: as {@link WebhookRequest}s, so that memory, turns, the plan, a sender's key and the
 * commit are those of any event. All receivers share the questions.
 */
export function startAgainResponder(
	connection: Pick<NatsConnection, "subscribe">,
	receiver: ReceiverParts,
	log: Logger,
): void {
	connection.subscribe(sendAgainSubject, {
		queue: "receive",
		callback: (error, message) => {
			if (!error) void answer(message, receiver, log);
		},
	});
}

async function answer(
	message: Msg,
	receiver: ReceiverParts,
	log: Logger,
): Promise<void> {
	try {
		const said = await sendAgain(Buffer.from(message.data), receiver);
		message.respond(JSON.stringify(said));
	} catch (err) {
		// Nobody waits any more, if the connection is being closed.
		log.warn({ err }, "an event could not be sent again");
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
	const { source, headers } = againRequest(route, asked);
	const {
		statusCode,
		headers: answered,
		payload: text,
	} = await inject(
		(request, response) =>
			new WebhookRequest(receiver, request, response, source).start(false),
		{ method: "POST", url: "/", headers, payload: payload.subarray(end + 1) },
	);
	const { event_id, error } = JSON.parse(text);
	return {
		status: statusCode,
		...(error && { error: { code: error.code, message: error.message } }),
		...(event_id && { eventID: event_id }),
		...(answered[repeatHeader] && { isRepeat: true }),
	};
}
