import { type KeyObject, verify } from "node:crypto";
import { promisify } from "node:util";
import { isCertificateURL } from "../../../packages/contracts/sns.ts";
import type { Limits } from "../admission/limits.ts";
import { type Refusal, refusals } from "../request/refusal.ts";
import type { AmazonSns } from "./amazon-sns.ts";
import { type SnsMessage, snsMessage } from "./sns-message.ts";

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
	{ longWork, threads }: Pick<Limits, "longWork" | "threads">,
	sns: Pick<AmazonSns, "keyOf"> | undefined,
): Promise<SnsMessage | Refusal> {
	if (json.length > maxBytes) return refusals.SignatureInvalid;
	const message = await longWork.run(account, snsMessage(json, topicARNs));
	if (!message || !isCertificateURL(message.certificateURL))
		return refusals.SignatureInvalid;
	const { certificateURL, hash, signed, signature } = message;
	const key = await sns?.keyOf(account, certificateURL);
	if (!key) return refusals.CertificateUnavailable;
	const isSigned = await threads.run(account, () =>
		verifyInThread(hash, signed, key, signature),
	);
	return isSigned ? message : refusals.SignatureInvalid;
}
