import { createHmac } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { isConfirmationURL } from "../../../packages/contracts/notify-question.ts";
import type { Route } from "../../../packages/contracts/route.ts";
import type {
	AnswerHead,
	ComputedValue,
	URLChallenge,
} from "../../../packages/contracts/url-challenge.ts";
import { doNow } from "../admission/long-work.ts";
import { textAt } from "../text/json-pointer.ts";
import { type RequestRefusal, refusals } from "./refusal.ts";
import type { ChallengeAnswer } from "./reply.ts";
import type { ServedRoute } from "./route-table.ts";

/*
 * Providers check a URL before they send events to it. A challenge is answered and never stored.
 */

/** Which challenges a Source answers. */
type Verification = NonNullable<Route["verification"]>;

/** The value of the Allow header (RFC 9110 §10.2.1). */
export function allowedMethods({
	verification,
	cors,
}: Pick<Route, "verification" | "cors">): string {
	const methods = new Set(["POST"]);
	if (verification?.allowGet) methods.add("GET").add("HEAD");
	for (const { match } of challengesOf(verification)) methods.add(match.method);
	if (cors) methods.add("OPTIONS");
	return [...methods].join(", ");
}

/** What a challenge is found in. */
export interface CheckingRequest {
	method: string;
	headers: IncomingHttpHeaders;
	/** Everything after the URL's question mark. */
	query: string | undefined;
	/** Undefined until the body has arrived and its sender is authorized. */
	body?: Buffer;
}

interface CheckedRoute
	extends Pick<ServedRoute, "authorization" | "signingKeys"> {
	verification?: Verification | undefined;
}

/**
 * Answers a challenge; undefined for an event. A challenge that the head alone shows is answered before anybody is authorized:
 * providers send it before they know a secret. What needs the body or a key is answered after the sender is authorized.
 */
export function answerChallenge(
	route: CheckedRoute,
	request: CheckingRequest,
): ChallengeAnswer | RequestRefusal | undefined {
	if (!route.verification) return undefined;
	const values = new RequestValues(request);
	for (const { match, answer } of challengesOf(route.verification)) {
		if (match.method !== request.method) continue;
		if (isOpen({ match, answer }) !== (request.body === undefined)) continue;
		if (!values.match(match)) continue;
		const found = new ChallengeText(answer, values, route).answer();
		if (found) return found;
	}
	return undefined;
}

/** Whether anybody gets the answer. A query parameter of a POST is no sign of a provider: events can have it, too. */
function isOpen({ match, answer }: URLChallenge): boolean {
	return (
		match.method !== "POST" ||
		(match.header !== undefined &&
			!answer.compute &&
			!JSON.stringify(answer).includes("{bodyPointer:"))
	);
}

const text = (template: string) =>
	({ status: 200, contentType: "text/plain", template }) as const;
const json = (template: string) =>
	({ status: 200, contentType: "application/json", template }) as const;
const success = json('{"is_success":true}');

const handshakes: Record<
	Verification["handshakes"][number],
	readonly URLChallenge[]
> = {
	// docs.slack.dev, "url_verification event".
	Slack: [
		{
			match: {
				method: "POST",
				bodyPointer: "/type",
				equals: "url_verification",
			},
			answer: text("{bodyPointer:/challenge}"),
		},
	],
	// learn.microsoft.com, "Receive change notifications through webhooks".
	MicrosoftGraph: [
		{
			match: { method: "POST", queryParameter: "validationToken" },
			answer: text("{queryParameter:validationToken}"),
		},
	],
	EventGrid: [
		// learn.microsoft.com, "Endpoint validation with Event Grid event schema".
		{
			match: {
				method: "POST",
				header: "aeg-event-type",
				equals: "SubscriptionValidation",
			},
			answer: json(
				'{"validationResponse":"{bodyPointer:/0/data/validationCode}"}',
			),
		},
		// CloudEvents' HTTP 1.1 Web Hooks §4. Event Grid sends it for subscriptions in that schema.
		{
			match: { method: "OPTIONS", header: "webhook-request-origin" },
			answer: {
				...success,
				headers: [
					{
						name: "webhook-allowed-origin",
						template: "{header:webhook-request-origin}",
					},
					{ name: "webhook-allowed-rate", template: "*" },
				],
			},
		},
	],
	// developers.facebook.com, "Webhooks: Verification Requests".
	Meta: [
		{
			match: { method: "GET", queryParameter: "hub.mode", equals: "subscribe" },
			answer: text("{queryParameter:hub.challenge}"),
		},
	],
	// Confirmed by a call: confirmationOf.
	SNS: [],
};

const gets: readonly URLChallenge[] = [
	{ match: { method: "GET" }, answer: success },
	{ match: { method: "HEAD" }, answer: success },
];

const known = new WeakMap<Verification, readonly URLChallenge[]>();

/** In the order in which they are tried. */
function challengesOf(
	verification: Verification | undefined,
): readonly URLChallenge[] {
	if (!verification) return [];
	let all = known.get(verification);
	if (!all) {
		all = [
			...(verification.challenges ?? []),
			...verification.handshakes.flatMap((name) => handshakes[name]),
			...(verification.allowGet ? gets : []),
		];
		known.set(verification, all);
	}
	return all;
}

/** Longer than any provider's challenge. */
const maxBodyBytes = 16 * 1024;

type Place = "header" | "queryParameter" | "bodyPointer";

/**
 * The values of a request that challenges ask for. Empty ones count as absent. Query and body are read once, however many values a
 * Source asks for, since one account's answers take the time of all.
 */
class RequestValues {
	readonly #request: CheckingRequest;
	#query: URLSearchParams | undefined;
	/** Empty for a body that isn't JSON: it is no challenge, and a later step refuses it. */
	#json: Buffer | undefined;

	constructor(request: CheckingRequest) {
		this.#request = request;
	}

	match({ header, queryParameter, bodyPointer, equals }: Match): boolean {
		let value: string | undefined;
		if (header !== undefined) value = this.at("header", header);
		else if (queryParameter !== undefined)
			value = this.at("queryParameter", queryParameter);
		else if (bodyPointer !== undefined) {
			// Nearly every event shows by this alone that it is no challenge.
			if (equals !== undefined && !this.#mayHold(equals)) return false;
			value = this.at("bodyPointer", bodyPointer);
		} else return true;
		return value !== undefined && (equals ?? value) === value;
	}

	at(place: Place, name: string): string | undefined {
		const { headers, query } = this.#request;
		if (place === "bodyPointer") return this.#bodyText(name) || undefined;
		if (place === "queryParameter") {
			this.#query ??= new URLSearchParams(query);
			return this.#query.get(name) || undefined;
		}
		const value = headers[name];
		// node:http decodes header values as Latin-1.
		return typeof value === "string" && value !== ""
			? Buffer.from(value, "latin1").toString()
			: undefined;
	}

	/** Whether the body can hold this as a string or a number. In JSON, a backslash can hide any text. */
	#mayHold(text: string): boolean {
		const { body } = this.#request;
		return (
			body !== undefined &&
			body.length <= maxBodyBytes &&
			(body.includes(text) || body.includes("\\"))
		);
	}

	#bodyText(pointer: string): string | undefined {
		const { body } = this.#request;
		if (!body || body.length > maxBodyBytes) return undefined;
		this.#json ??= jsonOf(body);
		return doNow(textAt(pointer, this.#json));
	}
}

type Match = Omit<URLChallenge["match"], "method">;

const maxAnswerBytes = 4 * 1024;
const placeholder =
	/\{(?:(computed)|(header|queryParameter|bodyPointer):([^{}]+))\}/g;
/**
 * What may be signed for whoever asks: signed texts of events have other characters, or hold a body, and a body like this is
 * no event of a Source that computes ({@link isLikeComputed}).
 */
const computable = /^[A-Za-z0-9_-]{1,128}$/;

/** The answer to one challenge. */
class ChallengeText {
	readonly #answer: URLChallenge["answer"];
	readonly #values: RequestValues;
	readonly #route: CheckedRoute;

	constructor(
		answer: URLChallenge["answer"],
		values: RequestValues,
		route: CheckedRoute,
	) {
		this.#answer = answer;
		this.#values = values;
		this.#route = route;
	}

	/** Undefined if the request lacks a value, so that it is no such challenge. */
	answer(): ChallengeAnswer | RequestRefusal | undefined {
		const { status, contentType, template, compute } = this.#answer;
		const computed = compute && this.#compute(compute);
		if (typeof computed === "object") return computed;
		if (compute && computed === undefined) return undefined;
		const body = this.#fill(template, escapes[contentType], computed);
		const headers: string[] = [];
		for (const { name, template } of this.#answer.headers ?? []) {
			const value = this.#fill(template, undefined, computed);
			if (value === undefined) return undefined;
			// RFC 9110 §5.5, without what node:http would refuse or change.
			if (!/^[\x20-\x7e]{0,4096}$/.test(value))
				return refusals.ChallengeInvalid;
			headers.push(name, value);
		}
		if (body === undefined) return undefined;
		return Buffer.byteLength(body) > maxAnswerBytes
			? refusals.ChallengeInvalid
			: { status, contentType, headers, body };
	}

	/** Undefined if a value is missing. */
	#fill(
		template: string,
		escaped = (value: string) => value,
		computed?: string,
	): string | undefined {
		let isWhole = true;
		// A text that is too long isn't made, only refused.
		let room = maxAnswerBytes;
		const filled = template.replace(
			placeholder,
			(_, isComputed, place: Place, name: string) => {
				const value = isComputed ? computed : this.#values.at(place, name);
				if (value === undefined) isWhole = false;
				if (!value || room < 0) return "";
				room -= value.length;
				return escaped(value);
			},
		);
		return isWhole ? filled : undefined;
	}

	#compute(compute: ComputedValue): string | RequestRefusal | undefined {
		const input = this.#fill(compute.input);
		if (input === undefined) return undefined;
		if (!computable.test(input)) return refusals.ChallengeInvalid;
		const { authorization, signingKeys } = this.#route;
		const key = signingKeys?.find(({ algorithm }) => algorithm === "HMAC")?.key;
		if (!key)
			return authorization.type === "Unavailable"
				? refusals.SecretUnavailable
				: refusals.KeyUnavailable;
		return createHmac(compute.algorithm.toLowerCase(), key)
			.update(input)
			.digest(compute.encoding === "Hex" ? "hex" : "base64");
	}
}

const inJSON = (value: string) => JSON.stringify(value).slice(1, -1);
/** XML 1.0 §2.4; without the characters that §2.2 leaves out. */
const inXML = (value: string) =>
	value
		.toWellFormed()
		.replace(/[^\t\n\r\x20-\ud7ff\ud800-\udfff\ue000-\ufffd]/g, "\ufffd")
		.replace(/[<>&"']/g, (one) => `&#${one.charCodeAt(0)};`);

const escapes: Record<AnswerHead["contentType"], (value: string) => string> = {
	"application/json": inJSON,
	"text/plain": (value) => value,
	"text/xml": inXML,
	"application/xml": inXML,
};

/**
 * Whether a body could be signed by a computed answer of its Source, so that its signature proves nothing: then it is no event.
 *
 * @param parts of the body, as it was sent or decompressed.
 */
export function isLikeComputed(
	{ verification }: Pick<Route, "verification">,
	parts: readonly Uint8Array[],
): boolean {
	if (!verification?.challenges?.some(({ answer }) => answer.compute))
		return false;
	const length = parts.reduce((sum, part) => sum + part.length, 0);
	return (
		length === 0 ||
		(length <= 128 && computable.test(Buffer.concat(parts).toString("latin1")))
	);
}

/**
 * The URL that confirms a subscription of Amazon SNS (docs.aws.amazon.com/sns/latest/dg/http-subscription-confirmation-json.html);
 * undefined for any other body.
 */
export function confirmationOf(
	verification: Verification | undefined,
	headers: IncomingHttpHeaders,
	body: Buffer,
): string | undefined {
	if (
		!verification?.handshakes.includes("SNS") ||
		headers["x-amz-sns-message-type"] !== confirmation ||
		body.length > maxBodyBytes
	)
		return undefined;
	const json = jsonOf(body);
	const [type, url] = ["/Type", "/SubscribeURL"].map((pointer) =>
		doNow(textAt(pointer, json)),
	);
	return type === confirmation && url && isConfirmationURL(url)
		? url
		: undefined;
}

const confirmation = "SubscriptionConfirmation";

/** Without its byte order mark; empty if the body isn't JSON. */
function jsonOf(body: Buffer): Buffer {
	const text = body.toString().replace(/^\ufeff/, "");
	try {
		JSON.parse(text);
		return Buffer.from(text);
	} catch {
		return Buffer.alloc(0);
	}
}

/** The answer to a challenge that asks for nothing in return. */
export const done: ChallengeAnswer = {
	status: success.status,
	contentType: success.contentType,
	headers: [],
	body: success.template,
};
