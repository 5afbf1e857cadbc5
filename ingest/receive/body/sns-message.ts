import { type KeyObject, verify } from "node:crypto";
import { promisify } from "node:util";
import { isCertificateURL } from "../../../packages/contracts/notify-question.ts";
import type { RequestLimits } from "../admission/limits.ts";
import { type LongWork, stepBytes } from "../admission/long-work.ts";
import { because, type RequestRefusal, refusals } from "../request/refusal.ts";
import { isJSONText } from "../text/json.ts";
import type { AmazonSns } from "./amazon-sns.ts";

/** A message of Amazon SNS, whose signature is in its body. */
interface SnsMessage {
	topicARN: string;
	/** Where the certificate is, as the sender says. */
	certificateURL: string;
	signature: Buffer;
	hash: "sha1" | "sha256";
	/** The signed text. */
	signed: Buffer;
}

/** docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message-verify-message-signature.html: by SignatureVersion. */
const hashes: Partial<Record<string, SnsMessage["hash"]>> = {
	1: "sha1",
	2: "sha256",
};

const ofNotification = [
	"Message",
	"MessageId",
	"Subject",
	"Timestamp",
	"TopicArn",
	"Type",
];
const ofConfirmation = [
	"Message",
	"MessageId",
	"SubscribeURL",
	"Timestamp",
	"Token",
	"TopicArn",
	"Type",
];
const signedNames: Partial<Record<string, string[]>> = {
	Notification: ofNotification,
	SubscriptionConfirmation: ofConfirmation,
	UnsubscribeConfirmation: ofConfirmation,
};

/** Signed or not, these tell how to check. */
const ofSignature = ["SignatureVersion", "Signature", "SigningCertURL"];
const allNames = [
	...new Set([...ofNotification, ...ofConfirmation, ...ofSignature]),
];

/**
 * Reads a message of one of the topics; undefined if it is none. The same page says what is signed. One signed text must stand for
 * one message only, so what could make it two is refused: no message of SNS has that.
 */
function* snsMessage(
	json: Uint8Array,
	topicARNs: readonly string[],
): LongWork<SnsMessage | undefined> {
	if (!(yield* isJSONText([json]))) return undefined;
	const members = yield* stringMembers(json, allNames);
	if (!members) return undefined;
	function* textIn(name: string): LongWork<string | undefined> {
		const parts = yield* textParts(members!.get(name) ?? none);
		return parts?.join("");
	}
	const topicARN = (yield* textIn("TopicArn")) ?? "";
	const names = signedNames[(yield* textIn("Type")) ?? ""];
	const hash = hashes[(yield* textIn("SignatureVersion")) ?? ""];
	if (!topicARNs.includes(topicARN) || !names || !hash) return undefined;
	const signed: Buffer[] = [];
	for (const name of names) {
		const bytes = members.get(name);
		if (!bytes && name === "Subject") continue;
		const parts = bytes && (yield* textParts(bytes));
		// The text separates names and values by line feeds, and the message stands first in it.
		if (!parts || (name !== "Message" && parts.join("").includes("\n")))
			return undefined;
		for (const part of [name, "\n", ...parts, "\n"])
			signed.push(Buffer.from(part));
	}
	return {
		topicARN,
		certificateURL: (yield* textIn("SigningCertURL")) ?? "",
		signature: Buffer.from((yield* textIn("Signature")) ?? "", "base64"),
		hash,
		signed: Buffer.concat(signed),
	};
}

const none = Buffer.alloc(0);

/**
 * An object's members of these names, each as the bytes between its quotation marks; undefined if one is no string or comes twice.
 * Readers differ on which of two members counts (RFC 8259 §4), so a signature that covers one mustn't stand for the other.
 *
 * @param json valid JSON.
 */
function* stringMembers(
	json: Uint8Array,
	names: readonly string[],
): LongWork<Map<string, Uint8Array> | undefined> {
	const walk = new Walk(json, names);
	for (let at = 0; at < json.length && !walk.isRefused; ) {
		const from = at;
		while (at < json.length && at - from < stepBytes) at = walk.visit(at);
		yield at - from;
	}
	return walk.isRefused ? undefined : walk.members;
}

/** The text of a string's bytes, in parts; undefined if UTF-8 can't hold it. */
function* textParts(
	bytes: Uint8Array,
): LongWork<readonly string[] | undefined> {
	const parts: string[] = [];
	for (let at = 0; at < bytes.length; ) {
		const from = at;
		while (at < bytes.length && at - from < stepBytes)
			at = characterEnd(bytes, at);
		const part = textOf(bytes.subarray(from, at));
		// A lone surrogate would be signed as another character.
		if (!part.isWellFormed()) return undefined;
		parts.push(part);
		yield at - from;
	}
	return parts;
}

const quote = 0x22;
const comma = 0x2c;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const letterU = 0x75;

class Walk {
	readonly members = new Map<string, Uint8Array>();
	isRefused = false;
	readonly #json: Uint8Array;
	readonly #names: ReadonlySet<string>;
	readonly #longestName: number;
	#depth = 0;
	#stringFrom = -1;
	#expectsName = false;
	/** Of the member whose value comes next, if it is wanted. */
	#name: string | undefined;

	constructor(json: Uint8Array, names: readonly string[]) {
		this.#json = json;
		this.#names = new Set(names);
		// JSON takes at most six bytes for a character of a name (\u0061).
		this.#longestName = 6 * Math.max(...names.map(({ length }) => length));
	}

	/** Visits the byte here, after all before it; returns where to go on. */
	visit(at: number): number {
		const byte = this.#json[at]!;
		if (this.#stringFrom >= 0) {
			if (byte === backslash) return at + 2;
			if (byte === quote) this.#endString(at);
			return at + 1;
		}
		switch (byte) {
			case quote:
				this.#stringFrom = at + 1;
				break;
			case openBrace:
			case openBracket:
				this.#endValue();
				this.#depth++;
				this.#expectsName = this.#depth === 1 && byte === openBrace;
				break;
			case closeBrace:
			case closeBracket:
				this.#endValue();
				this.#depth--;
				break;
			case comma:
				this.#endValue();
				this.#expectsName = this.#depth === 1;
		}
		return at + 1;
	}

	#endString(to: number): void {
		const bytes = this.#json.subarray(this.#stringFrom, to);
		this.#stringFrom = -1;
		if (this.#depth !== 1) return;
		if (!this.#expectsName) {
			if (this.#name !== undefined) this.members.set(this.#name, bytes);
			this.#name = undefined;
			return;
		}
		this.#expectsName = false;
		if (bytes.length > this.#longestName) return;
		const name = textOf(bytes);
		if (!this.#names.has(name)) return;
		this.#name = name;
		if (this.members.has(name)) this.isRefused = true;
	}

	/** A wanted name that still waits for its string has another value. */
	#endValue(): void {
		if (this.#name !== undefined) this.isRefused = true;
	}
}

/** Where the character that begins here ends: an escape, a pair of them for one character, or UTF-8. */
function characterEnd(bytes: Uint8Array, at: number): number {
	if (bytes[at] === backslash) {
		if (bytes[at + 1] !== letterU) return at + 2;
		const isPair =
			/^d[89ab]/i.test(String.fromCharCode(bytes[at + 2]!, bytes[at + 3]!)) &&
			bytes[at + 6] === backslash &&
			bytes[at + 7] === letterU;
		return at + (isPair ? 12 : 6);
	}
	let to = at + 1;
	while (to < bytes.length && (bytes[to]! & 0xc0) === 0x80) to++;
	return to;
}

function textOf(bytes: Uint8Array): string {
	return JSON.parse(`"${Buffer.from(bytes).toString()}"`);
}

const verifyInThread = promisify<
	string,
	Uint8Array,
	KeyObject,
	Buffer,
	boolean
>(verify);

/** A message of SNS has at most 256 KiB (docs.aws.amazon.com/general/latest/gr/sns.html), as JSON three times as much. */
const maxBytes = 2 * 1024 ** 2;

/**
 * The message, if SNS has signed it for one of the Source's topics. SNS signs for every account of Amazon's, so the topic is what
 * tells whose message it is. When it was signed doesn't count: a
 * subscription's retry policy may last for an hour.
 */
export async function verifiedMessage(
	json: Uint8Array,
	{ topicARNs }: { topicARNs: string[] },
	account: string,
	{ longWork, threads }: Pick<RequestLimits, "longWork" | "threads">,
	sns: Pick<AmazonSns, "keyOf"> | undefined,
): Promise<SnsMessage | RequestRefusal> {
	if (json.length > maxBytes)
		return because(refusals.SignatureInvalid, "No message of SNS is so long.");
	const message = await longWork.run(account, snsMessage(json, topicARNs));
	if (!message)
		return because(
			refusals.SignatureInvalid,
			"The body is not a signed message of SNS for one of amazonSNS.topicARNs. No certificate was tried.",
		);
	if (!isCertificateURL(message.certificateURL))
		return because(
			refusals.SignatureInvalid,
			"The body's SigningCertURL is no certificate of Amazon SNS. No certificate was tried.",
		);
	const { certificateURL, hash, signed, signature } = message;
	const key = await sns?.keyOf(account, certificateURL);
	if (!key) return refusals.CertificateUnavailable;
	const isSigned = await threads.run(account, () =>
		verifyInThread(hash, signed, key, signature),
	);
	return isSigned
		? message
		: because(
				refusals.SignatureInvalid,
				`The certificate of SNS doesn't match the signature. Read: 1 signature (RSA-${hash.toUpperCase()}) in Base64, in the body at /Signature. Tried: the certificate at SigningCertURL.`,
			);
}
