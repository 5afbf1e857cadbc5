import type { IncomingMessage, ServerResponse } from "node:http";
import type {
	AnswerHead,
	SenderAnswer,
} from "../../../packages/contracts/url-challenge.ts";
import type { RequestRefusal } from "./refusal.ts";

const type = ["content-type", "application/json"];

// A UUID's text has 36 characters.
const stored = ['{"is_success":true,"event_id":"', '"}'] as const;
const storedHead = [
	...type,
	"content-length",
	String(stored.join("").length + 36),
];

/** Tells the sender that its event is stored. @param own the answer that its Source wants. */
export function replyStored(
	response: ServerResponse,
	eventId: string,
	own?: SenderAnswer,
): void {
	if (own) {
		replyInOwnWords(response, {
			...own,
			headers: ["tidemill-event-id", eventId],
		});
		return;
	}
	response.writeHead(200, storedHead);
	response.end(stored[0] + eventId + stored[1], "latin1");
}

/** An answer in words that a Source or a sender chose. */
export interface ChallengeAnswer extends AnswerHead {
	headers: readonly string[];
	body: string;
}

/** All Sources share an origin, so a browser must not take the words of one for a page. */
const noPage = [
	"x-content-type-options",
	"nosniff",
	"content-security-policy",
	"sandbox",
];

export function replyInOwnWords(
	response: ServerResponse,
	{ status, contentType, headers, body }: ChallengeAnswer,
): void {
	const type = contentType.startsWith("text/")
		? `${contentType}; charset=utf-8`
		: contentType;
	// RFC 9110 §8.6: a 204 has no Content-Length.
	const length =
		status === 204 ? [] : ["content-length", String(Buffer.byteLength(body))];
	response.writeHead(status, [
		"content-type",
		type,
		...length,
		...noPage,
		...headers,
	]);
	response.end(status === 204 ? "" : body);
}

/** A remaining body of this size costs less to read than a new connection. */
const maxDiscardedBytes = 256 * 1024;
const lingerMs = 2_000;

/**
 * Refuses a request, whether or not its body has been read. A small or finished body is read and dropped, so that the
 * connection stays usable. Of a larger body receive reads what arrives within two seconds and then closes: closing
 * at once would reset the connection, and the sender might never see the answer (RFC 9112 §9.6).
 *
 * @param isEmpty leaves out the content.
 */
export function replyRefused(
	request: IncomingMessage,
	response: ServerResponse,
	refusal: RequestRefusal,
	isEmpty = false,
): void {
	const { status, head, body } = isEmpty
		? withoutContent(refusal)
		: prepare(refusal);
	const isRestSmall =
		request.complete ||
		Number(request.headers["content-length"] ?? Number.NaN) <=
			maxDiscardedBytes;
	// RFC 9110 §15.5.9: the rest would take as long again.
	if (!isRestSmall || status === 408) response.shouldKeepAlive = false;
	response.writeHead(status, head);
	if (isRestSmall) {
		response.end(body);
		return;
	}
	// This sends the whole answer; end() is what closes the connection.
	response.write(body);
	request.resume();
	const close = () => {
		clearTimeout(timer);
		response.end();
	};
	const timer = setTimeout(close, lingerMs);
	request.once("close", close);
}

/** The whole response with its head, for bytes that node:http couldn't read as a request. */
export function rawReply(refusal: RequestRefusal, reason: string): string {
	const { status, head, body } = prepare(refusal);
	const fields = [...head, "connection", "close"];
	let text = `HTTP/1.1 ${status} ${reason}\r\n`;
	for (let i = 0; i < fields.length; i += 2)
		text += `${fields[i]}: ${fields[i + 1]}\r\n`;
	return `${text}\r\n${body}`;
}

function withoutContent({ status, headers }: RequestRefusal): Prepared {
	return { status, head: ["content-length", "0", ...headers], body: "" };
}

interface Prepared {
	status: number;
	head: string[];
	body: string;
}

const prepared = new WeakMap<RequestRefusal, Prepared>();

/** Each refusal is serialised once. */
function prepare(refusal: RequestRefusal): Prepared {
	const known = prepared.get(refusal);
	if (known) return known;
	const { status, code, message, headers, details = "[]" } = refusal;
	const error = JSON.stringify({ code, message });
	const body = `{"is_success":false,"error":${error.slice(0, -1)},"details":${details}}}`;
	const length = String(Buffer.byteLength(body));
	const head = [...type, "content-length", length, ...headers];
	const made = { status, head, body };
	prepared.set(refusal, made);
	return made;
}
