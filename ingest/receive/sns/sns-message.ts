import type { Steps } from "../long-work/steps.ts";
import { textAt } from "../text/json-pointer.ts";
import { isJSONText } from "../text/json-text.ts";

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

/** Reads a message; undefined if it is none. The same page says what is signed. */
export function* snsMessage(json: Uint8Array): Steps<SnsMessage | undefined> {
	if (!(yield* isJSONText([json]))) return undefined;
	const type = yield* textAt("/Type", json);
	const names = signedNames[type ?? ""];
	const hash = hashes[(yield* textAt("/SignatureVersion", json)) ?? ""];
	const signature = yield* textAt("/Signature", json);
	const certificateURL = yield* textAt("/SigningCertURL", json);
	const topicARN = yield* textAt("/TopicArn", json);
	if (
		!names ||
		!hash ||
		signature === undefined ||
		certificateURL === undefined ||
		topicARN === undefined
	)
		return undefined;
	const signed: Buffer[] = [];
	for (const name of names) {
		const value = yield* textAt(`/${name}`, json);
		if (value !== undefined) signed.push(Buffer.from(`${name}\n${value}\n`));
		else if (name !== "Subject") return undefined;
	}
	return {
		topicARN,
		certificateURL,
		signature: Buffer.from(signature, "base64"),
		hash,
		signed: Buffer.concat(signed),
	};
}
