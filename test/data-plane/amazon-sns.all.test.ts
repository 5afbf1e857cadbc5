// In make test: ingest/receive/body/amazon-sns.test.ts
import { generateKeyPairSync, sign } from "node:crypto";
import { crc32 } from "node:zlib";
import type { NatsConnection } from "@nats-io/transport-node";
import {
	afterAll,
	beforeAll,
	beforeEach,
	describe,
	expect,
	test,
	vi,
} from "vitest";
import type { getText } from "../../ingest/notify/checked-request.ts";
import { QuestionResponder } from "../../ingest/notify/question-responder.ts";
import type { PublicKeyPlace } from "../../packages/contracts/route.ts";
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
import { connectAs } from "../support/servers/servers.ts";

/*
 * What receive asks of notify, about subscriptions of Amazon SNS and public keys: real receive and NATS, and notify's side under its
 * own user. Only what is called is a double.
 */

let fixture: ReceiveFixture;
let nats: NatsConnection;
let topic: SnsTopic;
let responder: { stop(): Promise<void> };
const get =
	vi.fn<(url: string, maxBytes: number) => ReturnType<typeof getText>>();

beforeAll(async () => {
	[fixture, topic] = await Promise.all([startReceiveFixture(), snsTopic()]);
	nats = await connectAs(fixture.nats, "notify");
	responder = new QuestionResponder({
		nats,
		get,
		log: createLog("test"),
	}).start();
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

describe("public keys at a URL", () => {
	const body = '{"id":1}';
	const keyURL = "https://keys.example/a.json";
	const pairs = {
		a: generateKeyPairSync("rsa", { modulusLength: 2_048 }),
		b: generateKeyPairSync("rsa", { modulusLength: 2_048 }),
	};
	const published = (...ids: (keyof typeof pairs)[]) =>
		JSON.stringify({
			keys: ids.map((kid) => ({
				...pairs[kid].publicKey.export({ format: "jwk" }),
				kid,
			})),
		});

	async function newSignedURL(
		account: string,
		publicKey: PublicKeyPlace,
	): Promise<string> {
		const { path } = await fixture.routes.add({
			account,
			authorization: {
				type: "Signature",
				scheme: "Custom",
				keys: [],
				toleranceSeconds: 300,
				custom: {
					header: "x-signature",
					algorithm: "RSA-SHA256",
					encoding: "Base64",
					signedString: "{header:x-id}|{bodyDigest:crc32}",
					publicKey,
				},
			},
		});
		const url = fixture.receiver.url + path;
		await untilKnown(url);
		return url;
	}

	const sendSigned = (
		url: string,
		own: Record<string, string>,
		id: keyof typeof pairs = "a",
		text = body,
	) =>
		send(url, {
			headers: {
				"content-type": "application/json",
				"x-id": "1",
				"x-signature": sign(
					"sha256",
					Buffer.from(`1|${crc32(body)}`),
					pairs[id].privateKey,
				).toString("base64"),
				...own,
			},
			body: text,
		});
	const invalid = {
		status: 401,
		json: { error: { code: "SignatureInvalid" } },
	};

	test("check signatures, where a sender says they are, if its host may publish them", async () => {
		get.mockImplementation(async (url) =>
			url === keyURL ? { text: published("a") } : { error: "status 404" },
		);
		const url = await newSignedURL("paid", {
			urlHeader: "x-key-url",
			keyHosts: ["keys.example"],
		});
		const at = (keyURL: string, id?: keyof typeof pairs, text?: string) =>
			sendSigned(url, { "x-key-url": keyURL }, id, text);
		expect(await at(keyURL)).toMatchObject({ status: 200 });
		expect(await at(keyURL, "b")).toMatchObject(invalid);
		expect(await at(keyURL, "a", `${body} `)).toMatchObject(invalid);
		for (const other of [
			"https://other.example/a.json",
			"https://keys.example.other.example/a.json",
			"https://keys.example:8443/a.json",
			"https://keys.example@other.example/a.json",
			"http://keys.example/a.json",
			"",
		])
			expect(await at(other)).toMatchObject(invalid);
		expect(get).toHaveBeenCalledExactlyOnceWith(keyURL, 32_768);

		// The first URL was unknown, too.
		for (let n = 0; n < 10; n++)
			expect(await at(`${keyURL}?${n}`)).toMatchObject({
				status: 503,
				json: { error: { code: "KeysUnavailable" } },
			});
		expect(get).toHaveBeenCalledTimes(1);
		expect(await at(keyURL)).toMatchObject({ status: 200 });
		expect(await storedBodies(url)).toEqual([body, body]);
	});

	test("check signatures by the id that a header names", async () => {
		get.mockImplementation(async () => ({ text: published("a", "b") }));
		const url = await newSignedURL("named", {
			url: keyURL,
			keyIdHeader: "x-key-id",
		});
		expect(await sendSigned(url, { "x-key-id": "b" }, "b")).toMatchObject({
			status: 200,
		});
		expect(await sendSigned(url, { "x-key-id": "a" }, "b")).toMatchObject(
			invalid,
		);
		for (let n = 0; n < 10; n++)
			expect(await sendSigned(url, { "x-key-id": `${n}` })).toMatchObject(
				invalid,
			);
		expect(await sendSigned(url, {})).toMatchObject(invalid);
		expect(get).toHaveBeenCalledTimes(1);
	});
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
