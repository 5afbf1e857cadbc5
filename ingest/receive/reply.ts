import type { IncomingMessage, ServerResponse } from "node:http";
import type { Refusal } from "./refusal.ts";
import type { Greeting } from "./url/url-challenge.ts";

const type = ["content-type", "application/json"];

// A UUID's text has 36 characters.
const stored = ['{"is_success":true,"event_id":"', '"}'] as const;
const storedHead = [
	...type,
	"content-length",
	String(stored.join("").length + 36),
];

/** Tells the sender that its event is stored. */
export function replyStored(response: ServerResponse, eventId: string): void {
	response.writeHead(200, storedHead);
	response.end(stored[0] + eventId + stored[1], "latin1");
}

/** Answers a sender that checks the URL. */
export function replyGreeting(
	response: ServerResponse,
	{ contentType, headers, body }: Greeting,
): void {
	const length = String(Buffer.byteLength(body));
	const type = ["content-type", contentType, "content-length", length];
	response.writeHead(200, [...type, ...headers]);
	response.end(body);
}

interface Prepared {
	status: number;
	head: string[];
	body: string;
}

const prepared = new WeakMap<Refusal, Prepared>();

/** A refusal as it goes over the wire, made once. */
function prepare(refusal: Refusal): Prepared {
	const known = prepared.get(refusal);
	if (known) return known;
	const { status, code, message, headers } = refusal;
	const body = JSON.stringify({
		is_success: false,
		error: { code, message, details: [] },
	});
	const length = String(Buffer.byteLength(body));
	const head = [...type, "content-length", length, ...headers];
	const made = { status, head, body };
	prepared.set(refusal, made);
	return made;
}

/** A rest of a body that costs less to read than a new connection. */
const maxRestBytes = 256 * 1024;
const lingerMs = 2_000;

/**
 * Refuses a request, whether its body has been read or not. A body that is small or at its end is read and dropped, so
 * that the connection can be used again. Of any other one no more than what arrives within two seconds is read: closing
 * at once would reset the connection, and the sender might never see the answer (RFC 9112 §9.6).
 */
export function replyRefused(
	request: IncomingMessage,
	response: ServerResponse,
	refusal: Refusal,
): void {
	const { status, head, body } = prepare(refusal);
	const isRestSmall =
		request.complete ||
		Number(request.headers["content-length"] ?? Number.NaN) <= maxRestBytes;
	if (!isRestSmall) response.shouldKeepAlive = false;
	response.writeHead(status, head);
	if (isRestSmall) {
		response.end(body);
		return;
	}
	// The answer is whole on the wire; end() is what closes the connection.
	response.write(body);
	request.resume();
	const close = () => {
		clearTimeout(timer);
		response.end();
	};
	const timer = setTimeout(close, lingerMs);
	request.once("close", close);
}

/** The same for bytes that node:http couldn't read as a request: the whole response with its head. */
export function rawReply(refusal: Refusal, reason: string): string {
	const { status, head, body } = prepare(refusal);
	const fields = [...head, "connection", "close"];
	let text = `HTTP/1.1 ${status} ${reason}\r\n`;
	for (let i = 0; i < fields.length; i += 2)
		text += `${fields[i]}: ${fields[i + 1]}\r\n`;
	return `${text}\r\n${body}`;
}
