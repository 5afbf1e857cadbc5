import { createSign, webcrypto } from "node:crypto";
// reflect-metadata and @peculiar/x509 as in local/servers/pki.ts.
import "reflect-metadata";
import { X509CertificateGenerator } from "@peculiar/x509";

const host = "https://sns.eu-west-1.amazonaws.com";

/** A topic of Amazon SNS, as docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html has it. */
export interface SnsTopic {
	arn: string;
	certificateURL: string;
	/** PEM. */
	certificate: string;
	privateKey: string;
	notification(change?: Record<string, unknown>, version?: "1" | "2"): string;
	confirmation(change?: Record<string, unknown>): string;
}

export const confirmationURL = `${host}/?Action=ConfirmSubscription&TopicArn=arn:aws:sns:eu-west-1:123456789012:orders&Token=2336412f37fb687f5d51e6e241d09c805a5a57b30d712f794cc5f6a988666d92768dd60a747ba6f3beb71854e285d6ad02428b09ceece29417f1f02d609c582afbacc99c583a916b9981dd2728f4ae6fdb82efd087cc3b7849e05798d2d2785c03b0879594eeac82c01f235d0e717736`;

export async function snsTopic(
	name = "orders",
	{ notBefore = new Date(0), notAfter = new Date("2100-01-01") } = {},
): Promise<SnsTopic> {
	const algorithm = {
		name: "RSASSA-PKCS1-v1_5",
		hash: "SHA-256",
		publicExponent: new Uint8Array([1, 0, 1]),
		modulusLength: 2048,
	};
	const keys = await webcrypto.subtle.generateKey(algorithm, true, [
		"sign",
		"verify",
	]);
	const certificate = await X509CertificateGenerator.createSelfSigned(
		{
			name: "CN=sns.amazonaws.com",
			notBefore,
			notAfter,
			keys,
			signingAlgorithm: algorithm,
		},
		webcrypto as Crypto,
	);
	const pkcs8 = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
	const base64 = Buffer.from(pkcs8).toString("base64");
	const privateKey = `-----BEGIN PRIVATE KEY-----\n${base64}\n-----END PRIVATE KEY-----\n`;
	const arn = `arn:aws:sns:eu-west-1:123456789012:${name}`;
	const certificateURL = `${host}/SimpleNotificationService-56e67fcb41f6fec09b0196692625d385.pem`;
	const sign = (
		message: Record<string, string>,
		change: Record<string, unknown>,
		version: "1" | "2" = "2",
	) => {
		const text = Object.keys(message)
			.toSorted()
			.map((key) => `${key}\n${message[key]}\n`)
			.join("");
		const signature = createSign(version === "1" ? "sha1" : "sha256")
			.update(text)
			.sign(privateKey, "base64");
		return JSON.stringify({
			...message,
			SignatureVersion: version,
			Signature: signature,
			SigningCertURL: certificateURL,
			...change,
		});
	};
	const basics = {
		MessageId: "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
		TopicArn: arn,
		Timestamp: "2026-03-01T12:00:00.000Z",
	};
	return {
		arn,
		certificateURL,
		certificate: certificate.toString("pem"),
		privateKey,
		notification: (change = {}, version) =>
			sign(
				{
					...basics,
					Type: "Notification",
					Subject: "Käse 🧀",
					Message: '{"order":\n1}',
				},
				change,
				version,
			),
		confirmation: (change = {}) =>
			sign(
				{
					...basics,
					Type: "SubscriptionConfirmation",
					Message: "You have chosen to subscribe to the topic.",
					SubscribeURL: confirmationURL,
					Token: "2336412f37fb687f5d51e6e241d09c80",
				},
				change,
			),
	};
}
