import { createPublicKey, createSign } from "node:crypto";
import { beforeAll, expect, test, vi } from "vitest";
import {
	type SnsTopic,
	snsTopic,
} from "../../../test/support/senders/sns-topic.ts";
import { MemoryBudget } from "../admission/budget.ts";
import { RequestLimits } from "../admission/limits.ts";
import { refusals } from "../request/refusal.ts";
import { verifiedMessage } from "./sns-message.ts";

let topic: SnsTopic;
let other: SnsTopic;

beforeAll(async () => {
	[topic, other] = await Promise.all([snsTopic(), snsTopic()]);
});

const limits = new RequestLimits(new MemoryBudget(1_000, 10_000_000));

function validated(text: string, of = topic, arns = [topic.arn]) {
	const keyOf = vi.fn(async () => createPublicKey(of.certificate));
	const outcome = verifiedMessage(
		Buffer.from(text),
		{ topicARNs: arns },
		"shop",
		limits,
		{ keyOf },
	);
	return { outcome, keyOf };
}

test("a message that SNS signed for the topic is accepted, in either version", async () => {
	for (const version of ["1", "2"] as const)
		expect(
			await validated(topic.notification({}, version)).outcome,
		).toHaveProperty("topicARN", topic.arn);
	expect(await validated(topic.confirmation()).outcome).toHaveProperty(
		"signed",
	);
	const { keyOf, outcome } = validated(topic.notification());
	await outcome;
	expect(keyOf).toHaveBeenCalledExactlyOnceWith("shop", topic.certificateURL);
});

/** A message that was published without a subject. */
function withoutSubject(Message = "m"): string {
	const message = JSON.parse(topic.notification({ Message }));
	const text = ["Message", "MessageId", "Timestamp", "TopicArn", "Type"]
		.map((name) => `${name}\n${message[name]}\n`)
		.join("");
	const Signature = createSign("sha256")
		.update(text)
		.sign(topic.privateKey, "base64");
	return JSON.stringify({ ...message, Signature, Subject: undefined });
}

test("a long message is accepted, whatever its characters", async () => {
	expect(await validated(withoutSubject()).outcome).toHaveProperty("signed");
	const Message = 'é"\n\\🧀'.repeat(50_000);
	const text = withoutSubject(Message);
	const escaped = text.replace(/[\u0080-\uffff]/g, (character) => {
		return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
	});
	for (const json of [
		text,
		escaped,
		text.replace('"M', ' "x":{"Message":1},"M'),
	])
		expect(await validated(json).outcome).toHaveProperty("signed");
});

test("another member, such as a link to unsubscribe, isn't signed and changes nothing", async () => {
	const text = topic.notification({ UnsubscribeURL: "https://x.example" });
	expect(await validated(text).outcome).toHaveProperty("signed");
});

test.each<[string, () => string]>([
	["a changed message", () => topic.notification({ Message: "other" })],
	["a changed subject", () => topic.notification({ Subject: "other" })],
	["no subject", () => topic.notification({ Subject: undefined })],
	["a changed id", () => topic.notification({ MessageId: "other" })],
	["a changed time", () => topic.notification({ Timestamp: "other" })],
	["another type", () => topic.notification({ Type: "Other" })],
	[
		"a confirmation as a notification",
		() => topic.confirmation({ Type: "Notification" }),
	],
	["another link", () => topic.confirmation({ SubscribeURL: "https://a" })],
	["another version", () => topic.notification({ SignatureVersion: "1" })],
	["no version", () => topic.notification({ SignatureVersion: undefined })],
	["an unknown version", () => topic.notification({ SignatureVersion: "3" })],
	["no signature", () => topic.notification({ Signature: undefined })],
	["an empty signature", () => topic.notification({ Signature: "" })],
	["another key's signature", () => other.notification()],
	[
		"a message in front of the signed one",
		() => topic.notification().replace("{", '{"Message":"forged",'),
	],
	[
		"a message in front of it, whose name is written otherwise",
		() => topic.notification().replace("{", '{"Mess\\u0061ge":"forged",'),
	],
	[
		"an object in front of it",
		() => topic.notification().replace("{", '{"Message":{"a":1},'),
	],
	[
		"a message after the signed one",
		() => topic.notification().replace(/}$/, ',"Message":"forged"}'),
	],
	[
		"the subject as a part of the id",
		() =>
			topic.notification({
				MessageId: `${JSON.parse(topic.notification()).MessageId}\nSubject\nKäse 🧀`,
				Subject: undefined,
			}),
	],
	[
		"a subject that is no text, beside a signature without one",
		() => withoutSubject().replace("{", '{"Subject":["forged"],'),
	],
	[
		"another character that UTF-8 would write the same",
		() => withoutSubject("\ufffd").replace("\ufffd", "\\ud800"),
	],
	["more than SNS sends", () => topic.notification() + " ".repeat(2 ** 21)],
	["what isn't JSON", () => `${topic.notification()}}`],
	["a list", () => `[${topic.notification()}]`],
	["nothing", () => ""],
])("%s is refused", async (_, text) => {
	expect(await validated(text()).outcome).toMatchObject(
		refusals.SignatureInvalid,
	);
});

test("people read which form was read and what was tried", async () => {
	const cause = async (text: string) => {
		const outcome = await validated(text).outcome;
		return "cause" in outcome ? outcome.cause : undefined;
	};
	for (const [version, hash] of [
		["1", "SHA1"],
		["2", "SHA256"],
	] as const)
		expect(await cause(topic.notification({ Message: "other" }, version))).toBe(
			`The certificate of SNS doesn't match the signature. Read: 1 signature (RSA-${hash}) in Base64, in the body at /Signature. Tried: the certificate at SigningCertURL.`,
		);
	for (const text of [
		topic.notification({ SigningCertURL: "https://evil.example/a.pem" }),
		topic.notification({ TopicArn: "arn:aws:sns:eu-west-1:1:other" }),
		'{"published":"raw"}',
	]) {
		expect(await cause(text)).toMatch(/\. No certificate was tried\.$/);
		expect(await cause(text)).not.toMatch(/evil|other|raw/);
	}
});

test("a message of a topic that isn't the Source's is refused, and no certificate is asked for", async () => {
	const { outcome, keyOf } = validated(topic.notification(), topic, [
		`${topic.arn}2`,
	]);
	expect(await outcome).toMatchObject(refusals.SignatureInvalid);
	expect(keyOf).not.toHaveBeenCalled();
});

test("a certificate is asked for at Amazon's hosts alone", async () => {
	const SigningCertURL =
		"https://sns.s3-us-west-2.amazonaws.com/SimpleNotificationService-a.pem";
	const { outcome, keyOf } = validated(topic.notification({ SigningCertURL }));
	expect(await outcome).toMatchObject(refusals.SignatureInvalid);
	expect(keyOf).not.toHaveBeenCalled();
});

test("without the certificate the sender is asked to send the message again", async () => {
	const message = (sns?: { keyOf(): Promise<undefined> }) =>
		verifiedMessage(
			Buffer.from(topic.notification()),
			{ topicARNs: [topic.arn] },
			"shop",
			limits,
			sns,
		);
	expect(await message()).toBe(refusals.CertificateUnavailable);
	const absent = { keyOf: async () => undefined };
	expect(await message(absent)).toBe(refusals.CertificateUnavailable);
});
