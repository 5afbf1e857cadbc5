import type { Steps } from "../admission/steps.ts";
import { isJSONText } from "../text/json-text.ts";
import { stringMembers, textParts } from "./signed-members.ts";

/** A message of Amazon SNS, whose signature is in its body. */
export interface SnsMessage {
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
export function* snsMessage(
	json: Uint8Array,
	topicARNs: readonly string[],
): Steps<SnsMessage | undefined> {
	if (!(yield* isJSONText([json]))) return undefined;
	const members = yield* stringMembers(json, allNames);
	if (!members) return undefined;
	function* textIn(name: string): Steps<string | undefined> {
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
