import type { Source } from "../../crds/generated/types.ts";
import {
	type ApiRequest,
	type Handler,
	writeOptions,
} from "../http/endpoint.ts";
import { RequestError } from "../http/errors.ts";
import { sources } from "../resources/api-resource.ts";
import { notFound } from "../resources/resource-read.ts";

const timeoutMs = 10_000;
const maxAnswerLength = 64 * 1024;

/**
 * `POST /v1/sources/{name}/test-event`: sends one event to the Source's URL as any sender would, and answers with what the
 * sender would get. The body is the event, byte for byte. Only callers who may change the Source may send it: an event is a row of its tables.
 */
export const sendTestEvent: Handler = async (request) => {
	const { params, body, bodyText, client, account, whenGone } = request;
	const name = params.name!;
	const source = await client.get<Source>(sources.kind, name, account);
	if (!source) throw notFound(sources, name, account);
	await requireSending(request, source);
	const url = urlOf(source);
	const event =
		Object.keys(body).length > 0 && bodyText !== undefined
			? bodyText
			: JSON.stringify({ type: "tidemill.test", message: "A test event." });
	const answer = await post(
		url,
		event,
		AbortSignal.any([whenGone(), AbortSignal.timeout(timeoutMs)]),
	).catch((error: Error) => {
		throw new RequestError(
			"Unavailable",
			`The source's URL can't be reached from here: ${reasonOf(error)}. Check that receive runs and that its base URL is right, or send the event yourself.`,
			{ headers: { "retry-after": "2" } },
		);
	});
	return { name, ...resultOf(answer) };
};

/** Throws unless the caller may change the Source, and for an Idempotency-Key whose event was sent. */
export async function requireSending(
	{ client, account, idempotency }: ApiRequest,
	{ metadata: { name, uid } }: Source,
): Promise<void> {
	await client.patch(
		sources.kind,
		name,
		account,
		{ metadata: { uid } },
		"merge",
		{ ...writeOptions, dryRun: true },
	);
	if (idempotency?.created)
		throw new RequestError(
			"Conflict",
			"The event of this Idempotency-Key was sent before, and the answer isn't kept. Use a new key to send another.",
		);
}

interface Answer {
	status: number;
	text: string;
}

async function post(
	url: string,
	event: string,
	signal: AbortSignal,
): Promise<Answer> {
	const { status, body } = await fetch(url, {
		method: "POST",
		headers: { "content-type": "application/json" },
		body: event,
		redirect: "error",
		signal,
	});
	return { status, text: await beginning(body ?? []) };
}

async function beginning(body: AsyncIterable<Uint8Array> | []) {
	const chunks: Uint8Array[] = [];
	let length = 0;
	// The end of the loop cancels the rest.
	for await (const chunk of body) {
		chunks.push(chunk);
		length += chunk.length;
		if (length >= maxAnswerLength) break;
	}
	return Buffer.concat(chunks).toString("utf8", 0, maxAnswerLength);
}

/** Throws a 409 that says how to send an event if that needs a credential, which the API doesn't have. */
function urlOf({ metadata: { name }, spec, status }: Source): string {
	const { authorization } = spec.webhook ?? {};
	const url = status?.webhookURL;
	if (url === undefined)
		throw new RequestError(
			"Conflict",
			`The source "${name}" has no URL yet. Its conditions say why.`,
		);
	switch (authorization?.type) {
		case "CustomToken":
			throw new RequestError(
				"Conflict",
				`The source "${name}" asks for a token, which this API can't read. Send the event yourself: curl --header "Authorization: Bearer <token>" --json '{"type":"test"}' <webhookURL>`,
			);
		case "JWT":
			throw new RequestError(
				"Conflict",
				`The source "${name}" asks for a JSON Web Token, which only its issuer can sign. Send a test event from the sender's own settings.`,
			);
		case "Signature":
			throw new RequestError(
				"Conflict",
				`The source "${name}" asks for a signature, whose secret this API can't read. Send a test event from the sender's own settings.`,
			);
		default:
			return url;
	}
}

/** The answer of receive, which has a shape of its own. */
function resultOf({ status: httpStatus, text }: Answer) {
	const { is_success, event_id, error } = parsed(text);
	return {
		accepted: httpStatus === 200 && is_success === true,
		httpStatus,
		...(event_id !== undefined && { eventId: event_id }),
		...(error && { error: { code: error.code, message: error.message } }),
	};
}

function parsed(text: string): {
	is_success?: boolean;
	event_id?: string;
	error?: { code: string; message: string };
} {
	try {
		return JSON.parse(text) ?? {};
	} catch {
		return {};
	}
}

function reasonOf({ message, cause }: Error): string {
	return cause instanceof Error ? cause.message : message;
}
