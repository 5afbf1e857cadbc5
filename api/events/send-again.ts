import type { NatsConnection } from "@nats-io/transport-node";
import { sendAgainSubject } from "../../packages/contracts/nats.ts";
import { parameterOf } from "../../packages/contracts/route.ts";
import {
	type SendAgain,
	type SendAgainAnswer,
	type SentAgainAs,
	sentAgainAs,
	sentAgainField,
} from "../../packages/contracts/sent-again.ts";
import { FairLimit, NoTurn } from "../../packages/fair/fair-limit.ts";
import { type Logger, withhold } from "../../packages/service/log.ts";
import type { Handler, JsonObject, ReceiveClient } from "../http/endpoint.ts";
import { invalidFields, RequestError } from "../http/errors.ts";
import { eventIdOf, requireEvent } from "./event.ts";
import { requireSource } from "./sources.ts";
import { requireSending } from "./test-event.ts";

/** Receive answers a sender within a second when it is full, and commits within some. */
const timeoutMs = 10_000;
/** Bodies in memory, and in turns, since one has up to 8 MiB. */
const turns = new FairLimit({
	atOnce: 4,
	atOncePerOwner: 2,
	maxWaiting: 100,
	maxWaitMs: timeoutMs,
});

/**
 * `POST /v1/sources/{name}/events/{event_id}/send-again`: has receive take a stored event once more, as another event that names the
 * first. The bytes come from archive and reach receive by NATS, so a Source that checks its senders takes them, too. It needs
 * the rights to the bodies and to change the Source.
 */
export const sendEventAgain: Handler = async (request) => {
	const { params, account, server, whenGone } = request;
	const name = params.name!;
	const id = eventIdOf(params.event_id!);
	const as = chosen(request.body);
	const source = await requireSource(request, name, true);
	await requireSending(request, source);
	const again = async () => {
		const { event, body } = await requireEvent(request, source, id, true);
		if (!body)
			throw new RequestError(
				"Conflict",
				`Nothing is left of the body of event "${id}", so there is nothing to send. It was erased.`,
			);
		const { [sentAgainField]: _, ...fields } = event.headers ?? {};
		const question: SendAgain = {
			account,
			sourceKey: event.sourceKey,
			of: id,
			kind: event.kind,
			fields,
			as,
		};
		const answer = await server.receive.sendAgain(question, body);
		return { fields, answer };
	};
	const { fields, answer } = await turns
		.run(account, again, whenGone())
		.catch((error) => {
			if (!(error instanceof NoTurn)) throw error;
			throw new RequestError(
				"Unavailable",
				"Too many events are being sent again. Send this one in a moment.",
				{ headers: { "retry-after": "2" } },
			);
		});
	const names = Object.keys(fields);
	const { status, eventID, isRepeat, error } = answer;
	return {
		name,
		accepted: eventID !== undefined,
		httpStatus: status,
		...(eventID !== undefined && { eventId: eventID }),
		...(eventID !== undefined && { became: isRepeat ? "Repeat" : "New" }),
		...(error && { error }),
		sent: {
			headerNames: names.filter((field) => parameterOf(field) === undefined),
			parameterNames: names.flatMap((field) => parameterOf(field) ?? []),
		},
	};
};

/** What the body asks for. Throws a 400 that names each wrong field. */
function chosen({ as = "New", ...others }: JsonObject): SentAgainAs {
	const details = Object.keys(others).map((path) => ({
		path,
		message: "is not a known field. The body has `as` alone",
	}));
	const known = sentAgainAs.find((one) => one === as);
	if (known && details.length === 0) return known;
	if (!known)
		details.push({
			path: "as",
			message: `must be ${sentAgainAs.join(" or ")}, and is ${JSON.stringify(as)}`,
		});
	throw invalidFields("event to send again", details);
}

/** Asks any receive. The function that is returned throws a 503 if nobody answers. */
export function askReceive(
	connection: () => Pick<NatsConnection, "request">,
	log: Logger,
): ReceiveClient["sendAgain"] {
	return async (question, body) => {
		const head = Buffer.from(`${JSON.stringify(question)}\n`);
		try {
			const answer = await connection().request(
				sendAgainSubject,
				Buffer.concat([head, body]),
				{ timeout: timeoutMs },
			);
			return answer.json<SendAgainAnswer>();
		} catch (error) {
			const reason = withhold(log, error, "api", "receive can't be asked");
			throw new RequestError(
				"Unavailable",
				`Receive doesn't answer (${reason}), so it isn't known whether the event was stored again: look at the source's newest events first. If receive runs, and NATS is your own, its accounts lack the subject ${sendAgainSubject}: docs/upgrade.md says how to add it.`,
				{ headers: { "retry-after": "2" } },
			);
		}
	};
}
