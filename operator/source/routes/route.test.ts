import { expect, test } from "vitest";
import { sourceOf } from "../../../test/support/examples/resource-examples.ts";
import { secretNames } from "./authorization.ts";
import { routeOf } from "./decide.ts";
import { newKeys } from "./keys.ts";

const keys = newKeys(1);

test.each([
	[{ preset: "StandardWebhooks" as const }, { header: "webhook-id" }],
	[{ preset: "Stripe" as const }, { bodyPointer: "/id" }],
	[
		{ preset: "GitHub" as const },
		{ header: "x-github-delivery", within: "x-github-hook-id" },
	],
	[{ preset: "Shopify" as const }, { header: "x-shopify-webhook-id" }],
	[{ preset: "Svix" as const }, { header: "svix-id" }],
	[{ preset: "Slack" as const }, { bodyPointer: "/event_id" }],
	[{ preset: "Twilio" as const }, { header: "i-twilio-idempotency-token" }],
	[{ preset: "SNS" as const }, { bodyPointer: "/MessageId" }],
	[{ preset: "Signature" as const }, { signature: true }],
	[{ header: "idempotency-key" }, { header: "idempotency-key" }],
	[{ queryParameter: "delivery" }, { parameter: "delivery" }],
	[{ bodyPointer: "/event/id" }, { bodyPointer: "/event/id" }],
])(
	"a Source with the idempotency key %o makes receivers look at %o",
	(asked, place) => {
		const source = sourceOf();
		source.spec.webhook!.idempotency = { key: asked, windowSeconds: 300 };
		expect(routeOf(source, keys, { type: "None" }).idempotency).toEqual({
			key: place,
			windowSeconds: 300,
		});
	},
);

test("receivers store the query parameters that a Source asks for", () => {
	const source = sourceOf();
	const captured = () =>
		routeOf(source, keys, { type: "None" }).capturedParameters;
	expect(captured()).toBeUndefined();
	source.spec.webhook!.capturedQueryParameters = ["utm_source"];
	expect(captured()).toEqual(["utm_source"]);
});

test.each([
	["Slack", ["Slack"]],
	["Meta", ["Meta"]],
	["GitHub", undefined],
] as const)("the scheme %s brings the handshakes %j along", (scheme, own) => {
	const source = sourceOf();
	const webhook = source.spec.webhook!;
	webhook.authorization = {
		type: "Signature",
		signature: { scheme, secretRefs: [], toleranceSeconds: 300 },
	};
	const verification = () =>
		routeOf(source, keys, { type: "None" }).verification;
	delete webhook.verification;
	expect(verification()?.handshakes).toEqual(own);
	webhook.verification = { allowGet: true, handshakes: ["EventGrid", "Slack"] };
	const all = new Set(["EventGrid", "Slack", ...(own ?? [])]);
	expect(verification()).toEqual({ allowGet: true, handshakes: [...all] });
});

test("a Source is looked at again when the Secret with its public key changes", () => {
	const source = sourceOf();
	source.spec.webhook!.authorization = {
		type: "Signature",
		signature: {
			scheme: "Custom",
			toleranceSeconds: 300,
			custom: {
				header: "x-signature",
				algorithm: "Ed25519",
				encoding: "Hex",
				signedString: "{body}",
				publicKey: { secretRef: { name: "provider", key: "key" } },
			},
		},
	};
	expect(secretNames(source)).toEqual(["provider"]);
});

test("receivers give the answers that a Source asks for, as text with status 200 unless it says otherwise", () => {
	const source = sourceOf();
	const webhook = source.spec.webhook!;
	const route = () => routeOf(source, keys, { type: "None" });
	expect(route()).not.toHaveProperty("response");
	expect(route()).not.toHaveProperty("emptyBody");
	const match = { method: "GET", queryParameter: "challenge" } as const;
	const plain = { status: 200, contentType: "text/plain" };
	webhook.verification = { allowGet: false, challenges: [] };
	expect(route().verification).not.toHaveProperty("challenges");
	webhook.verification.challenges = [
		{ match, answer: {} },
		{ match, answer: { status: 204, contentType: "text/xml" } },
	];
	webhook.response = { body: "OK", emptyRefusals: false };
	webhook.onEmptyBody = "StoreNull";
	expect(route()).toMatchObject({
		verification: {
			challenges: [
				{ match, answer: { ...plain, template: "" } },
				{
					match,
					answer: { status: 204, contentType: "text/xml", template: "" },
				},
			],
		},
		response: { ...plain, body: "OK" },
		emptyBody: "Null",
	});
	webhook.response = { status: 204, emptyRefusals: true };
	webhook.onEmptyBody = "Reject";
	expect(route().response).toEqual({
		...plain,
		status: 204,
		body: "",
		emptyRefusals: true,
	});
	expect(route()).not.toHaveProperty("emptyBody");
});

test("a Source for messages of Amazon SNS has its subscriptions confirmed", () => {
	const source = sourceOf();
	source.spec.webhook!.authorization = {
		type: "AmazonSNS",
		amazonSNS: { topicARNs: ["arn:aws:sns:eu-west-1:123456789012:orders"] },
	};
	const route = routeOf(source, keys, { type: "None" });
	expect(route.verification?.handshakes).toEqual(["SNS"]);
});

test("receivers answer the pages that a Source allows", () => {
	const source = sourceOf();
	const cors = () => routeOf(source, keys, { type: "None" }).cors;
	expect(cors()).toBeUndefined();
	source.spec.webhook!.cors = { allowedOrigins: ["*"] };
	expect(cors()).toEqual({ allowedOrigins: ["*"] });
});

test("the route of a Source without idempotency has none", () => {
	expect(routeOf(sourceOf(), keys, { type: "None" })).not.toHaveProperty(
		"idempotency",
	);
});
