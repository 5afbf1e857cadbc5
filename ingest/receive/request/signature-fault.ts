import type { IncomingHttpHeaders } from "node:http";
import type {
	CustomSignature,
	SignatureAuthorization,
} from "../../../packages/contracts/route.ts";
import type {
	PresentedSignature,
	SignatureText,
} from "./presented-signature.ts";
import { because, type RequestRefusal, refusals } from "./refusal.ts";
import { signatureBytes } from "./signature-sets.ts";

/*
 * Why a signature isn't accepted. Its sender reads one sentence, whatever is wrong; people of the account read the cause.
 * It names headers and fields, never what was sent.
 */

/** What a header of a scheme must hold. */
interface SignatureHeader {
	name: string;
	pattern: RegExp;
	/** What fits the pattern. */
	form: string;
}

const unixSeconds = { pattern: /^\d{1,12}$/, form: "a Unix time in seconds" };
const anything = { pattern: /./, form: "a text" };
const standard = (sender: string): SignatureHeader[] => [
	{ name: `${sender}-id`, ...anything },
	{ name: `${sender}-timestamp`, ...unixSeconds },
	{
		name: `${sender}-signature`,
		pattern: /(^| )v1a?,/,
		form: '"v1,<Base64>", or "v1a,<Base64>" for a public key',
	},
];
const gitHub: SignatureHeader[] = [
	{
		name: "x-hub-signature-256",
		pattern: /(^|,)\s*sha256\s*=/,
		form: '"sha256=<hex>"',
	},
];

const headersOf: Record<
	Exclude<SignatureAuthorization["scheme"], "Custom">,
	SignatureHeader[]
> = {
	StandardWebhooks: standard("webhook"),
	Svix: standard("svix"),
	GitHub: gitHub,
	Meta: gitHub,
	Stripe: [/(?:^|,)\s*t\s*=\s*\d{1,12}\s*(?:,|$)/, /(?:^|,)\s*v1\s*=/].map(
		(pattern) => ({
			name: "stripe-signature",
			pattern,
			form: '"t=<Unix time in seconds>,v1=<hex>"',
		}),
	),
	Shopify: [{ name: "x-shopify-hmac-sha256", ...anything }],
	Slack: [
		{ name: "x-slack-request-timestamp", ...unixSeconds },
		{
			name: "x-slack-signature",
			pattern: /(^|,)\s*v0\s*=/,
			form: '"v0=<hex>"',
		},
	],
	Twilio: [{ name: "x-twilio-signature", ...anything }],
};

/** Refuses a request in which the scheme finds no signature, or not all that is signed. */
export function missingSignature(
	authorization: SignatureAuthorization,
	headers: IncomingHttpHeaders,
): RequestRefusal {
	return because(
		refusals.SignatureInvalid,
		`${missingPart(authorization, headers)} No key was tried.`,
	);
}

function missingPart(
	{ scheme, custom }: SignatureAuthorization,
	headers: IncomingHttpHeaders,
): string {
	const wanted = custom
		? customHeaders(custom)
		: headersOf[schemeIn(scheme, headers)];
	const absent = wanted.filter(({ name }) => headers[name] === undefined);
	if (absent.length > 0) return `${headerWords(absent)} missing.`;
	const odd = wanted.find(({ name, pattern }) => {
		// Of headers without end, a pattern need not read all.
		const value = String(headers[name]).slice(0, 4_096);
		return !pattern.test(value);
	});
	if (odd)
		return `The header ${odd.name} can't be decoded: scheme ${scheme} wants ${odd.form}.`;
	const pointers = [custom?.bodyPointer, custom?.timestampBodyPointer];
	const places = pointers.filter((pointer) => pointer !== undefined);
	return places.length > 0
		? `The body lacks the signature, or what it signs, at ${places.join(" or ")}.`
		: "The request lacks what the signature is made of.";
}

/** StandardWebhooks and Svix take the headers of either. */
function schemeIn(
	scheme: SignatureAuthorization["scheme"],
	headers: IncomingHttpHeaders,
): keyof typeof headersOf {
	if (scheme === "StandardWebhooks" && "svix-signature" in headers)
		return "webhook-signature" in headers ? scheme : "Svix";
	if (scheme === "Svix" && "webhook-signature" in headers)
		return "StandardWebhooks";
	return scheme as keyof typeof headersOf;
}

function headerWords(headers: readonly SignatureHeader[]): string {
	const names = [...new Set(headers.map(({ name }) => name))];
	return names.length === 1
		? `The header ${names[0]} is`
		: `The headers ${names.join(", ")} are`;
}

const timestamps: Record<
	NonNullable<CustomSignature["timestampFormat"]>,
	{ time: string; form: string }
> = {
	UnixSeconds: { time: "\\d{1,12}", form: "a Unix time in seconds" },
	UnixMillis: { time: "\\d{1,15}", form: "a Unix time in milliseconds" },
	RFC3339: {
		time: "\\d{4}-\\d\\d-\\d\\d[Tt ]\\d\\d:\\d\\d:\\d\\d[^,;]*",
		form: "a time of RFC 3339",
	},
};

function customHeaders({
	header,
	headerPart,
	prefix = "",
	timestampHeader,
	timestampHeaderPart,
	timestampFormat = "UnixSeconds",
	signedString,
	publicKey,
}: CustomSignature): SignatureHeader[] {
	const all: SignatureHeader[] = [];
	if (header !== undefined)
		all.push({
			name: header,
			pattern: partHolding(headerPart, RegExp.escape(prefix)),
			form: `"${headerPart === undefined ? "" : `${headerPart}=`}${prefix}<signature>"`,
		});
	if (timestampHeader !== undefined) {
		const { time, form } = timestamps[timestampFormat];
		all.push({
			name: timestampHeader,
			pattern: partHolding(timestampHeaderPart, `${time}"?\\s*(?:[,;]|$)`),
			form:
				timestampHeaderPart === undefined
					? form
					: `${form} in its part ${timestampHeaderPart}`,
		});
	}
	for (const [, name] of signedString.matchAll(/\{header:([^{}]+)\}/g))
		all.push({ name: name!.toLowerCase(), ...anything });
	const { urlHeader, keyIdHeader } = publicKey ?? {};
	if (urlHeader !== undefined)
		all.push({
			name: urlHeader,
			pattern: new RegExp(
				`^https://(${(publicKey!.keyHosts ?? []).map((host) => RegExp.escape(host)).join("|")})(/|$)`,
			),
			form: "an https URL on one of publicKey.keyHosts",
		});
	if (keyIdHeader !== undefined) all.push({ name: keyIdHeader, ...anything });
	return all;
}

/** @param name of the header's part; undefined for the whole header. */
function partHolding(name: string | undefined, text: string): RegExp {
	return new RegExp(
		name === undefined
			? `^${text}`
			: `(?:^|[,;])\\s*${RegExp.escape(name)}="?${text}`,
	);
}

/** Refuses a signature whose times are all too far from now. */
export function untimelySignature(
	presented: PresentedSignature,
	authorization: SignatureAuthorization,
	nowMs: number,
): RequestRefusal {
	const { toleranceSeconds } = authorization;
	const off = Math.round(nowMs / 1000 - presented.signedAt!);
	return because(
		refusals.SignatureInvalid,
		`The signed time is ${Math.abs(off)} s ${off > 0 ? "behind" : "ahead of"} receive's clock; toleranceSeconds is ${toleranceSeconds}. ${readWords(presented, authorization)} No key was tried.`,
	);
}

/**
 * Refuses a signature that none of the keys matches. It says what was read and tried, never what would have been right.
 *
 * @param keys how many there are.
 */
export function wrongSignature(
	presented: PresentedSignature,
	authorization: SignatureAuthorization,
	keys: number,
): RequestRefusal {
	const { keyAt } = presented;
	const read = readWords(presented, authorization);
	if (!textsOf(presented).some((text) => isReadable(text, presented)))
		return because(
			refusals.SignatureInvalid,
			`The signature can't be decoded: it is not ${formOf(presented)} of the right length. ${read} No key was tried.`,
		);
	if (keyAt && keys === 0)
		return because(
			refusals.SignatureInvalid,
			`No public key at the URL has the id that the request names. ${read} No key was tried.`,
		);
	const kind = keyAt ? "public key at the URL" : "secret";
	const what =
		keys === 1
			? `The one ${kind} doesn't match the signature.`
			: `None of ${keys} ${keyAt ? "public keys at the URL" : "secrets"} matches the signature.`;
	const tried = keyAt
		? `Tried: what is at ${keyAt.isSenders ? "the URL in the header that urlHeader names" : "publicKey.url"}.`
		: triedWords(presented, authorization);
	return because(refusals.SignatureInvalid, `${what} ${read} ${tried}`);
}

function textsOf({ texts, other }: PresentedSignature): SignatureText[] {
	return [...texts, ...(other?.texts ?? [])];
}

function isReadable(
	{ algorithm, text }: SignatureText,
	{ encoding, hash }: PresentedSignature,
): boolean {
	const length = signatureBytes(text, encoding)?.length;
	if (algorithm === "HMAC") return length === digestBytes[hash];
	return algorithm === "Ed25519" ? length === 64 : length !== undefined;
}

const digestBytes: Record<PresentedSignature["hash"], number> = {
	sha1: 20,
	sha256: 32,
	sha512: 64,
};

function formOf({ encoding }: PresentedSignature): string {
	return encoding === "hex" ? "hexadecimal" : "Base64";
}

/** In which form the signatures were read, and where. */
function readWords(
	presented: PresentedSignature,
	{ scheme, custom }: SignatureAuthorization,
): string {
	const texts = textsOf(presented);
	const { hash, other } = presented;
	const kinds = new Set(
		texts.map(({ algorithm }) =>
			algorithm === "HMAC" ? `HMAC-${hash.toUpperCase()}` : algorithm,
		),
	);
	const count =
		texts.length === 1 ? "1 signature" : `${texts.length} signatures`;
	const times = other ? " of 2 times" : "";
	const place = custom ? customPlace(custom) : `as scheme ${scheme} has it`;
	return `Read: ${count} (${[...kinds].join(", ")})${times} in ${formOf(presented)}, ${place}.`;
}

function customPlace({
	header,
	headerPart,
	bodyPointer,
	signedString,
}: CustomSignature): string {
	const part = headerPart === undefined ? "" : `the part ${headerPart} of `;
	const place =
		header === undefined
			? `in the body at ${bodyPointer}`
			: `in ${part}the header ${header}`;
	return `${place}, of the signedString ${signedString}`;
}

function triedWords(
	presented: PresentedSignature,
	{ keys }: SignatureAuthorization,
): string {
	const kinds = new Set(textsOf(presented).map(({ algorithm }) => algorithm));
	const tried = keys.filter(({ algorithm }) => kinds.has(algorithm));
	if (tried.length === 0)
		return "No key was tried, because none is for such a signature.";
	const names = new Set(
		tried.map(({ from }) =>
			from ? `key "${from.key}" of Secret "${from.secret}"` : "a key",
		),
	);
	return `Tried: ${[...names].join(", ")}.`;
}
