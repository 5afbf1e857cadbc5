import type { IncomingHttpHeaders } from "node:http";
import type { SignatureAuthorization } from "../../../packages/contracts/route.ts";
import {
	type DescribedScheme,
	describedSchemes,
} from "../../../packages/contracts/signature-schemes.ts";
import type { LongWork } from "../admission/long-work.ts";
import { FormFault, formToJSON, urlencodedFields } from "../text/form.ts";
import { customSignature } from "./custom-signature.ts";
import type {
	PresentedSignature,
	SignatureInBody,
	SignatureText,
} from "./presented-signature.ts";
import { textsIn } from "./signature-sets.ts";
import { sentBytes, sha256Of } from "./signed-string.ts";

/** Reads the headers by the Source's scheme; undefined if they carry no signature. */
export function readSignature(
	authorization: SignatureAuthorization,
	headers: IncomingHttpHeaders,
	address: CalledURL,
): PresentedSignature | SignatureInBody | undefined {
	const presented = schemes[authorization.scheme](
		headers,
		authorization,
		address,
	);
	return presented && "texts" in presented && presented.texts.length === 0
		? undefined
		: presented;
}

type Scheme = (
	headers: IncomingHttpHeaders,
	authorization: SignatureAuthorization,
	address: CalledURL,
) => PresentedSignature | SignatureInBody | undefined;

// The specification at standardwebhooks.com; v1 is an HMAC, v1a an Ed25519 signature.
const standardWebhooks: Scheme = (headers) => {
	// The standard grew out of Svix, which still sends the headers under its own name.
	const sender = "webhook-signature" in headers ? "webhook" : "svix";
	const id = headers[`${sender}-id`];
	const time = unixTime(headers[`${sender}-timestamp`]);
	if (typeof id !== "string" || time === undefined) return undefined;
	return {
		texts: versioned(headers[`${sender}-signature`]),
		hash: "sha256",
		encoding: "base64",
		signed: [sentBytes(`${id}.${time}.`), nothing],
		signedAt: Number(time),
	};
};

/** Signs as data says, and nothing of the URL. */
function described(scheme: DescribedScheme): Scheme {
	const custom = describedSchemes[scheme];
	return (headers, _, { query }) =>
		customSignature(custom, { headers, url: "", query });
}

const schemes: Record<SignatureAuthorization["scheme"], Scheme> = {
	// Beside its HMAC, a request may carry a signature by a private key.
	StandardWebhooks: standardWebhooks,
	Svix: standardWebhooks,
	GitHub: described("GitHub"),
	Meta: described("Meta"),
	Stripe: described("Stripe"),
	Shopify: described("Shopify"),
	Slack: described("Slack"),
	Twilio: (headers, { baseURL }, address) =>
		twilioSignature(headers, address, baseURL!),
	Custom: (headers, { custom, baseURL = "" }, address) =>
		customSignature(custom!, {
			headers,
			url: baseURL + pathOf(address),
			query: address.query,
		}),
};

const nothing = Buffer.alloc(0);

type Header = string | string[] | undefined;

/** Returns the digits as they are signed. */
function unixTime(header: Header): string | undefined {
	return typeof header === "string" && /^\d{1,12}$/.test(header)
		? header
		: undefined;
}

/** In `v1,A v1,B v1a,C`, each version holds for what follows it. */
function versioned(header: Header): SignatureText[] {
	if (typeof header !== "string") return [];
	const [, only] = /^v1,([\w+/=-]+)$/.exec(header) ?? [];
	if (only) return [{ algorithm: "HMAC", text: only }];
	let algorithm: SignatureText["algorithm"] | undefined;
	return textsIn(header).flatMap((text) => {
		if (!/^v\d{1,3}[a-z]?$/.test(text))
			return algorithm ? { algorithm, text } : [];
		algorithm = versions[text];
		return [];
	});
}

const versions: Record<string, SignatureText["algorithm"]> = {
	v1: "HMAC",
	v1a: "Ed25519",
};

/** What the sender called, of which some schemes sign all. */
interface CalledURL {
	sourceKey: string;
	urlKey: string;
	slash?: "/";
	/** Everything after the question mark. */
	query: string | undefined;
}

function pathOf({ sourceKey, urlKey, slash }: CalledURL): string {
	return `/hooks/${sourceKey}/${urlKey}${slash ?? ""}`;
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
	address: CalledURL,
	baseURL: string,
) {
	const text = headers["x-twilio-signature"];
	if (typeof text !== "string") return undefined;
	const { query } = address;
	const target = `${pathOf(address)}${query === undefined ? "" : `?${query}`}`;
	const digest = new URLSearchParams(query).get(twilioDigest);
	return {
		texts: textsIn(text).map((text) => ({ algorithm: "HMAC" as const, text })),
		hash: "sha1" as const,
		encoding: "base64" as const,
		signed: [],
		*signedTexts(body: readonly Uint8Array[]): LongWork<readonly Buffer[]> {
			const rest = digest === null ? yield* twilioFields(body) : "";
			if (rest === undefined) return [];
			if (digest !== null && digest !== (yield* sha256Of(body))) return [];
			return urlsOf(baseURL).map((base) => Buffer.from(base + target + rest));
		},
	};
}

/** The query parameter with the digest of a body that is no form. */
export const twilioDigest = "bodySHA256";

/** Twilio signs with the port or without it, whichever URL it was given. */
function urlsOf(baseURL: string): string[] {
	const { protocol, host, hostname, port, pathname } = new URL(baseURL);
	const other =
		port === "" ? `${hostname}:${protocol === "https:" ? 443 : 80}` : hostname;
	const path = pathname === "/" ? "" : pathname;
	return [host, other].map((each) => `${protocol}//${each}${path}`);
}

/** Each name and value, in the order of the names; undefined if this can't be a form of Twilio's. */
export function* twilioFields(
	body: readonly Uint8Array[],
): LongWork<string | undefined> {
	const length = body.reduce((sum, part) => sum + part.length, 0);
	if (length > maxFormBytes) return undefined;
	const form = Buffer.concat(body);
	yield length;
	let json = "";
	try {
		for (const step of formToJSON(urlencodedFields(form))) json += step.json;
	} catch (fault) {
		if (fault instanceof FormFault) return undefined;
		throw fault;
	}
	const fields = Object.entries<string | string[]>(JSON.parse(json));
	return fields
		.toSorted(([a], [b]) => (a < b ? -1 : 1))
		.flatMap(([name, value]) =>
			[...new Set([value].flat())].toSorted().map((one) => name + one),
		)
		.join("");
}
