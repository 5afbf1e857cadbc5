import {
	type Msg,
	type NatsConnection,
	NoRespondersError,
} from "@nats-io/transport-node";
import type { ArchiveNotice } from "../../packages/contracts/archive.ts";
import { eventsSubject } from "../../packages/contracts/nats.ts";
import type {
	EventAnswer,
	EventsAnswer,
	EventsRefusal,
	EventsRequest,
} from "../../packages/contracts/stored-event.ts";
import { type Logger, withhold } from "../../packages/service/log.ts";
import type { ArchiveClient } from "../http/endpoint.ts";
import { RequestError } from "../http/errors.ts";

/** Archive says every second that it works on the question. */
const silenceMs = 5_000;

/** Asks archive, which has the stream and the bucket. The function that is returned throws a 503 if nobody answers. */
export function askArchiveForEvents(
	connection: () => NatsConnection,
	log: Logger,
): ArchiveClient["askEvents"] {
	return async (shard, question) => {
		const said = await lastWord(connection, shard, question, log);
		const [head, body] = parted(said.data);
		const answer = JSON.parse(head.toString()) as EventsAnswer | EventAnswer;
		if (!answer.ok) throw refusal(answer);
		return { answer, ...(body && { body }) };
	};
}

async function lastWord(
	connection: () => NatsConnection,
	shard: number,
	question: EventsRequest,
	log: Logger,
): Promise<Msg> {
	try {
		const answers = await connection().requestMany(
			eventsSubject(shard),
			JSON.stringify(question),
			{ strategy: "stall", maxWait: silenceMs, stall: silenceMs },
		);
		for await (const answer of answers) if (!isNotice(answer)) return answer;
	} catch (error) {
		throw silent(
			error instanceof NoRespondersError
				? "nobody listens"
				: withhold(log, error, "api", "archive can't be asked"),
		);
	}
	throw silent(`silent for ${silenceMs / 1_000} s`);
}

/** A notice is short. What a sender chose, such as an event's body, makes no answer a notice. */
function isNotice({ data }: Msg): boolean {
	const [head] = parted(data);
	return head.length < 1_000 && JSON.parse(head.toString()).working === true;
}

/** The body follows the JSON after a line feed, which JSON has none of. */
function parted(data: Uint8Array): [head: Buffer, body?: Buffer] {
	const bytes = Buffer.from(data.buffer, data.byteOffset, data.length);
	const end = bytes.indexOf("\n");
	return end < 0 ? [bytes] : [bytes.subarray(0, end), bytes.subarray(end + 1)];
}

function silent(reason: string): RequestError {
	return new RequestError(
		"Unavailable",
		`Archive, which has the stored events, does not answer (${reason}). Retry the request.`,
		{ headers: { "retry-after": "2" } },
	);
}

function refusal({ error }: EventsRefusal): RequestError {
	const { code, message } = error;
	if (code === "CursorExpired" || code === "CursorInvalid")
		return new RequestError(
			code === "CursorExpired" ? "CursorExpired" : "InvalidRequest",
			message,
		);
	return new RequestError(
		"Unavailable",
		`Archive can't read the stored events now: ${message} (${code})`,
		{ headers: { "retry-after": "2" } },
	);
}

/** Archive signs up to some hundred links. */
const timeoutMs = 20_000;

/** Asks any archive, which has the bucket. The function that is returned throws if nobody answers. */
export function askAnyArchive<Question, Answer extends object>(
	connection: () => NatsConnection,
	subject: string,
	maxWait = timeoutMs,
): (question: Question) => Promise<Answer> {
	return async (question) => {
		const answers = await connection().requestMany(
			subject,
			JSON.stringify(question),
			{ strategy: "timer", maxWait },
		);
		for await (const answer of answers) {
			const said = answer.json<Answer | ArchiveNotice>();
			if (!("working" in said)) return said;
		}
		throw new Error("archive is silent");
	};
}
