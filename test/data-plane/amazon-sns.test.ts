import { connect, type NatsConnection } from "@nats-io/transport-node";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import type { getText } from "../../ingest/notify/checked-request.ts";
import { SnsResponder } from "../../ingest/notify/sns-responder.ts";
import { createLog } from "../../packages/service/log.ts";
import {
	type ReceiveFixture,
	readFrames,
	startReceiveFixture,
} from "../support/fixtures/data-plane/receiver.ts";
import { send, untilKnown } from "../support/senders/http-client.ts";
import {
	confirmationURL,
	type SnsTopic,
	snsTopic,
} from "../support/senders/sns-topic.ts";

/* A subscription of Amazon SNS: real receive and NATS, and notify's side under its own user. Only Amazon is a double. */

let fixture: ReceiveFixture;
let nats: NatsConnection;
let topic: SnsTopic;
let responder: { stop(): Promise<void> };
const get =
	vi.fn<(url: string, maxBytes: number) => ReturnType<typeof getText>>();

beforeAll(async () => {
	[fixture, topic] = await Promise.all([startReceiveFixture(), snsTopic()]);
	const { host, username, password } = new URL(fixture.nats.urlFor("notify"));
	nats = await connect({
		servers: host,
		user: username,
		pass: password,
		inboxPrefix: "_INBOX_notify",
	});
	responder = new SnsResponder({ nats, get, log: createLog("test") }).start();
	await nats.flush();
});

afterAll(async () => {
	await responder.stop();
	await nats.close();
	await fixture.stop();
});

beforeEach(() => {
	get.mockReset();
	get.mockImplementation(async (url) => ({
		text: url === topic.certificateURL ? topic.certificate : "<xml/>",
	}));
});

async function newURL(account: string): Promise<string> {
	const { path } = await fixture.routes.add({
		account,
		authorization: { type: "AmazonSNS", topicARNs: [topic.arn] },
		verification: { allowGet: false, handshakes: ["SNS"] },
	});
	const url = fixture.receiver.url + path;
	await untilKnown(url);
	return url;
}

const post = (url: string, type: string, body: string) =>
	send(url, {
		headers: {
			"content-type": "text/plain; charset=UTF-8",
			"x-amz-sns-message-type": type,
		},
		body,
	});

async function storedBodies(url: string): Promise<string[]> {
	const sourceKey = url.split("/").at(-2);
	const frames = await readFrames(fixture.admin, fixture.stream);
	return frames
		.flatMap(({ events }) => events)
		.filter((event) => event.sourceKey === sourceKey)
		.map(({ body }) => Buffer.from(body).toString());
}

test("a subscription is confirmed at Amazon, and its messages are stored byte for byte", async () => {
	const url = await newURL("shop");
	get.mockImplementationOnce(async () => ({ error: "Amazon is away." }));
	const early = await post(
		url,
		"SubscriptionConfirmation",
		topic.confirmation(),
	);
	// Receive asks again after a while; until then SNS does.
	expect(early).toMatchObject({
		status: 503,
		json: { error: { code: "CertificateUnavailable" } },
	});

	const other = await newURL("bank");
	expect(
		await post(other, "SubscriptionConfirmation", topic.confirmation()),
	).toMatchObject({ status: 200, json: { is_success: true } });
	expect(get.mock.calls.map(([called]) => called)).toEqual([
		topic.certificateURL,
		topic.certificateURL,
		confirmationURL,
	]);
	expect(await storedBodies(other)).toEqual([]);

	const messages = [topic.notification({}, "1"), topic.notification({}, "2")];
	// The certificate that one account's message has brought serves all.
	for (const message of messages)
		expect(await post(url, "Notification", message)).toMatchObject({
			status: 200,
		});
	expect(await storedBodies(url)).toEqual(messages);
	expect(get).toHaveBeenCalledTimes(3);
});

test("a forged message is refused, whatever its certificate's URL says, and Amazon isn't called for a foreign one", async () => {
	const url = await newURL("shop");
	for (const message of [
		topic.notification({ Message: "forged" }),
		topic.notification({ TopicArn: `${topic.arn}2` }),
		topic.notification({ SigningCertURL: "https://169.254.169.254/x.pem" }),
		"{}",
	])
		expect(await post(url, "Notification", message)).toMatchObject({
			status: 401,
			json: { error: { code: "SignatureInvalid" } },
		});
	const forged = topic.confirmation({
		SubscribeURL: "https://169.254.169.254/",
	});
	expect(await post(url, "SubscriptionConfirmation", forged)).toMatchObject({
		status: 401,
	});
	expect(await storedBodies(url)).toEqual([]);
	for (const [called] of get.mock.calls)
		expect(called).toBe(topic.certificateURL);
});

test("if Amazon doesn't confirm, or notify is away, SNS is asked to send again", async () => {
	const url = await newURL("shop");
	const confirm = () =>
		post(url, "SubscriptionConfirmation", topic.confirmation());
	await post(url, "Notification", topic.notification());
	get.mockImplementation(async () => ({ error: "Amazon is away." }));
	const refused = {
		status: 503,
		json: { error: { code: "ConfirmationFailed" } },
	};
	expect(await confirm()).toMatchObject(refused);
	await responder.stop();
	await nats.flush();
	expect(await confirm()).toMatchObject(refused);
});
