import type { IncomingHttpHeaders } from "node:http";

const redacted = "[redacted]";

/** Shorter ones are words that occur anyway, and redacting them would hide the text. */
const minCredentialLength = 6;

const credentialName = /auth|token|secret|signature|key|hmac|cookie|passw/i;

/** Beside the names that {@link credentialName} knows, `Authorization: Bearer abc` presents `abc`. */
const scheme = /^[\w-]+ +/;

const named = /(?:token|secret|passw|signature|authori|api[_-]?key|credential)/
	.source;

/**
 * What looks like a credential, whoever sent it: a webhook URL's keys, a JSON Web Token (RFC 7519 §3), an Authorization header's
 * value, and the value of a field, header or parameter with a telling name. Every repetition is bounded or can't backtrack.
 */
const telling = [
	/(?<=\/hooks\/)[0-9a-f]{32}(?:\/[0-9a-f]{0,32})?/g,
	/\beyJ[\w-]+(?:\.[\w-]*){0,4}/g,
	/(?<=\b(?:bearer|basic) {1,9})[\w.~+/=-]+/gi,
	new RegExp(
		String.raw`(?<=${named}[\w.-]{0,40}["']?\s{0,9}(?:[:=]|%3[ad])\s{0,9})(?:"(?:[^"\\]|\\.)*"?|'[^']*'?|[^\s&,;}\]"']+)`,
		"gi",
	),
];

/** The distinct credentials of a request: whatever its sender presents as one, right or wrong. */
export function credentialsOf(
	url: string,
	headers: IncomingHttpHeaders,
	signatureHeader?: string,
): string[] {
	const values = Object.entries(headers)
		.filter(([name]) => credentialName.test(name) || name === signatureHeader)
		.flatMap(([, value]) => value ?? [])
		.flatMap((value) => [value, value.replace(scheme, "")]);
	const query = url.split("?").slice(1).join("?");
	const parameters = query.split("&").flatMap((pair) => {
		const value = pair.slice(pair.indexOf("=") + 1);
		return [value, decoded(value)];
	});
	const all = [...values, ...parameters, ...(url.match(/[0-9a-f]{32}/g) ?? [])];
	return [...new Set(all)].filter(
		({ length }) => length >= minCredentialLength,
	);
}

/**
 * The text without credentials: those of the request wherever they stand, and what looks like one.
 * @param length of the text that is wanted. What follows is read only to know where a credential ends.
 */
export function redact(
	text: string,
	credentials: readonly string[],
	length = text.length,
): string {
	const hidden = new Uint8Array(text.length);
	for (const pattern of telling)
		for (const match of text.matchAll(pattern))
			hidden.fill(1, match.index, match.index + match[0].length);
	for (const credential of credentials) hide(hidden, text, credential);
	const wanted = Math.min(length, text.length);
	let shown = "";
	for (let at = 0; at < wanted; ) {
		const isHidden = hidden[at] === 1;
		const next = hidden.indexOf(isHidden ? 0 : 1, at);
		const end = next < 0 ? text.length : next;
		shown += isHidden ? redacted : text.slice(at, Math.min(end, wanted));
		at = end;
	}
	return shown;
}

/** Marks each character of the credential, wherever it occurs. */
function hide(hidden: Uint8Array, text: string, credential: string): void {
	for (
		let at = text.indexOf(credential);
		at >= 0;
		at = text.indexOf(credential, at + credential.length)
	)
		hidden.fill(1, at, at + credential.length);
	// The text may end in the middle of one.
	for (
		let kept = Math.min(credential.length - 1, text.length);
		kept >= minCredentialLength;
		kept--
	)
		if (text.endsWith(credential.slice(0, kept))) {
			hidden.fill(1, text.length - kept);
			break;
		}
}

function decoded(value: string): string {
	try {
		return decodeURIComponent(value);
	} catch {
		return value;
	}
}
