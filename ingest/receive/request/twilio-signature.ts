import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { type Steps, stepBytes } from "../admission/steps.ts";
import { formToJSON } from "../text/form.ts";

/** What the sender called, of which some schemes sign all. */
export interface CalledURL {
	sourceKey: string;
	urlKey: string;
	/** Everything after the question mark. */
	query: string | undefined;
}

/** Larger than any request of Twilio's. The fields are sorted, which nobody may make long. */
const maxFormBytes = 64 * 1024;

/**
 * twilio.com/docs/usage/security, "Validating requests": the URL and the sorted fields of the form; for another body, the URL,
 * whose parameter `bodySHA256` has the body's digest.
 *
 * @param baseURL of all webhook URLs, as Twilio calls them.
 */
export function twilioSignature(
	headers: IncomingHttpHeaders,
	{ sourceKey, urlKey, query }: CalledURL,
	baseURL: string,
) {
	const text = headers["x-twilio-signature"];
	if (typeof text !== "string") return undefined;
	const target = `/hooks/${sourceKey}/${urlKey}${query === undefined ? "" : `?${query}`}`;
	const digest = new URLSearchParams(query).get("bodySHA256");
	return {
		texts: [{ algorithm: "HMAC" as const, text }],
		hash: "sha1" as const,
		encoding: "base64" as const,
		signed: [],
		*signedTexts(body: readonly Uint8Array[]): Steps<readonly Buffer[]> {
			const rest = digest === null ? yield* fieldsOf(body) : "";
			if (rest === undefined) return [];
			if (digest !== null && digest !== (yield* sha256(body))) return [];
			return urlsOf(baseURL).map((base) => Buffer.from(base + target + rest));
		},
	};
}

/** Twilio signs with the port or without it, whichever URL it was given. */
function urlsOf(baseURL: string): string[] {
	const { protocol, host, hostname, port, pathname } = new URL(baseURL);
	const other =
		port === "" ? `${hostname}:${protocol === "https:" ? 443 : 80}` : hostname;
	const path = pathname === "/" ? "" : pathname;
	return [host, other].map((each) => `${protocol}//${each}${path}`);
}

/** Each name and value, in the order of the names; undefined if this can't be a form of Twilio's. */
function* fieldsOf(body: readonly Uint8Array[]): Steps<string | undefined> {
	const length = body.reduce((sum, part) => sum + part.length, 0);
	if (length > maxFormBytes) return undefined;
	const form = Buffer.concat(body);
	yield length;
	let json = "";
	const steps = formToJSON(form);
	for (;;) {
		const { done, value } = steps.next();
		if (done) {
			if (!value) return undefined;
			break;
		}
		json += value.json;
	}
	const fields = Object.entries<string | string[]>(JSON.parse(json));
	return fields
		.toSorted(([a], [b]) => (a < b ? -1 : 1))
		.flatMap(([name, value]) =>
			[...new Set([value].flat())].toSorted().map((one) => name + one),
		)
		.join("");
}

function* sha256(body: readonly Uint8Array[]): Steps<string> {
	const digest = createHash("sha256");
	for (const part of body)
		for (let at = 0; at < part.length; at += stepBytes) {
			const piece = part.subarray(at, at + stepBytes);
			digest.update(piece);
			yield piece.length;
		}
	return digest.digest("hex");
}
