import type { IncomingMessage } from "node:http";
import type { NatsConnection } from "@nats-io/transport-node";
import { refused } from "../../../packages/contracts/nats.ts";
import {
	maxHeadBytes,
	maxRecordBytes,
	type RefusedRequest,
} from "../../../packages/contracts/refused-request.ts";
import type { Route } from "../../../packages/contracts/route.ts";
import { credentialsOf, redact } from "./redaction.ts";
import type { RequestRefusal } from "./refusal.ts";
import { RefusalRateLimit } from "./refusal-rate.ts";

/** `sent` to NATS, `cut` and sent, `left_out` by the rate limit, or `dropped` while NATS is away. */
type RecordOutcome = "sent" | "cut" | "left_out" | "dropped";

/**
 * Tells people which requests of their Sources are refused. It never makes a sender wait: what the rate limit lets through is handed to
 * NATS without an acknowledgement, and nothing is kept while NATS is away.
 */
export class RefusedRequests {
	readonly outcomes: Record<RecordOutcome, number> = {
		sent: 0,
		cut: 0,
		left_out: 0,
		dropped: 0,
	};
	readonly #connection: Pick<NatsConnection, "publish" | "status">;
	readonly #rateLimit = new RefusalRateLimit();
	/** While it isn't, the client would collect what is published. */
	#isConnected = true;

	constructor(connection: Pick<NatsConnection, "publish" | "status">) {
		this.#connection = connection;
		void this.#follow();
	}

	/** @param body as it was sent, as far as it was read; empty for a compressed one. */
	record(
		route: Route,
		request: IncomingMessage,
		refusal: RequestRefusal,
		body: readonly Uint8Array[],
	): void {
		if (!this.#isConnected) {
			this.outcomes.dropped++;
			return;
		}
		const { account, sourceKey } = route;
		const leftOut = this.#rateLimit.take(account, sourceKey, performance.now());
		if (leftOut === undefined) {
			this.outcomes.left_out++;
			return;
		}
		const record = recordOf(route, request, refusal, body);
		const { text, isCut } = fittingText(
			leftOut > 0 ? { ...record, leftOut } : record,
		);
		this.#rateLimit.spend(account, sourceKey, Buffer.byteLength(text));
		const outcome = isCut ? "cut" : "sent";
		this.#publish(refused.subject(account, sourceKey), text, outcome);
	}

	#publish(subject: string, text: string, outcome: RecordOutcome): void {
		try {
			this.#connection.publish(subject, text);
			this.outcomes[outcome]++;
		} catch {
			// The connection is being closed.
			this.outcomes.dropped++;
		}
	}

	async #follow(): Promise<void> {
		for await (const { type } of this.#connection.status()) {
			if (type === "disconnect") this.#isConnected = false;
			if (type === "reconnect") this.#isConnected = true;
		}
	}
}

/** The text that follows the head tells where a credential in it ends. */
const windowBytes = 2 * maxHeadBytes;
const maxContentType = 100;
const maxUserAgent = 200;
const maxMethod = 20;
/** Room for the names of five Secrets and their keys. */
const maxCause = 3_200;
const maxNames = 40;
const maxNamesLength = 600;
const maxViolations = 10;
const maxViolationText = 200;
/** With more, the search for each in each text takes too long, so no text of the request is shown. */
const maxCredentials = 32;

/** @param now for the record's time. */
export function recordOf(
	{ authorization }: Pick<Route, "authorization">,
	{ method = "", url = "", headers }: IncomingMessage,
	{ status, code, message, details, cause }: RequestRefusal,
	body: readonly Uint8Array[],
	now = new Date(),
): RefusedRequest {
	const checked =
		authorization.type === "Unavailable" ? authorization.awaits : authorization;
	const credentials = credentialsOf(
		url,
		headers,
		checked?.type === "Signature"
			? checked.custom?.header
			: checked?.type === "JWT"
				? checked.header
				: undefined,
	);
	const shown = (text: string, length: number) =>
		redact(text.slice(0, 2 * length), credentials, length);
	const arrived = body.reduce((sum, { length }) => sum + length, 0);
	const announced = Number(headers["content-length"] ?? Number.NaN);
	const bytes = Number.isSafeInteger(announced) ? announced : arrived;
	const isShown = credentials.length <= maxCredentials;
	const type = isShown ? headers["content-type"] : undefined;
	const agent = isShown ? headers["user-agent"] : undefined;
	return {
		version: 1,
		time: now.toISOString(),
		status,
		code,
		message,
		...(cause !== undefined && { cause: cause.slice(0, maxCause) }),
		method: method.slice(0, maxMethod),
		...(type !== undefined && { contentType: shown(type, maxContentType) }),
		...(agent !== undefined && { userAgent: shown(agent, maxUserAgent) }),
		...(bytes > 0 && { bytes }),
		headerNames: firstNames(Object.keys(headers)),
		...(isShown &&
			arrived > 0 && { bodyHead: cut(shown(beginning(body), maxHeadBytes)) }),
		...(isShown &&
			details !== undefined &&
			firstViolations(details, (text) => shown(text, maxViolationText))),
	};
}

/** What is left out isn't redacted either: that costs time. */
function firstViolations(
	details: string,
	shown: (text: string) => string,
): Pick<RefusedRequest, "violations" | "otherViolations"> {
	const all: unknown[] = JSON.parse(details);
	const first = all.slice(0, maxViolations);
	const violations = JSON.parse(JSON.stringify(first), (_, value) =>
		typeof value === "string" ? shown(value) : value,
	);
	const others = all.length - first.length;
	return { violations, ...(others > 0 && { otherViolations: others }) };
}

/** The record as JSON, without its last violations if it would be longer than the stream takes. The rest of it fits. */
export function fittingText(record: RefusedRequest): {
	text: string;
	isCut: boolean;
} {
	let { violations = [], otherViolations = 0 } = record;
	let text = JSON.stringify(record);
	const isCut = Buffer.byteLength(text) > maxRecordBytes;
	while (Buffer.byteLength(text) > maxRecordBytes && violations.length > 0) {
		violations = violations.slice(0, -1);
		otherViolations++;
		text = JSON.stringify({ ...record, violations, otherViolations });
	}
	return { text, isCut };
}

function firstNames(names: string[]): string[] {
	let length = 0;
	return names.slice(0, maxNames).filter((name) => {
		length += name.length;
		return length <= maxNamesLength;
	});
}

/** As JSON no longer than a head may be: JSON writes a control character with six bytes. */
function cut(head: string): string {
	let bytes = 0;
	let end = 0;
	for (const character of head) {
		bytes += Buffer.byteLength(JSON.stringify(character)) - 2;
		if (bytes > maxHeadBytes) break;
		end += character.length;
	}
	return head.slice(0, end);
}

function beginning(body: readonly Uint8Array[]): string {
	const parts: Uint8Array[] = [];
	let bytes = 0;
	for (const part of body) {
		if (bytes >= windowBytes) break;
		parts.push(part.subarray(0, windowBytes - bytes));
		bytes += parts.at(-1)!.length;
	}
	return Buffer.concat(parts).toString("utf8");
}
