import { createHmac } from "node:crypto";
import { createRequire } from "node:module";
import { sign as signForGitHub } from "@octokit/webhooks-methods";
import Stripe from "stripe";
import { type ProviderTraffic, secret, traffic } from "./provider-requests.ts";
import { snsTopic } from "./sns-topic.ts";

/* What the providers send whose schemes a Source knows by name: docs/senders.md. */

const load = createRequire(import.meta.url);
// svix: its own word on what it has signed.
const { Webhook } = load("svix");

/** What Amazon SNS publishes to the page's Source. */
export const topic = await snsTopic();

const json = { "content-type": "application/json" };
const body = '{"id":"evt_1","event_id":"evt_1","type":"a","n":1.0}';
const svixSecret = `whsec_${Buffer.alloc(24, 7).toString("base64")}`;

const byGitHubsWay = async () => ({
	headers: {
		...json,
		"x-github-delivery": "d1",
		"x-github-hook-id": "292430182",
		"x-hub-signature-256": await signForGitHub(secret, body),
	},
	body,
});

function slack(body: string) {
	const time = Math.floor(Date.now() / 1_000);
	const signature = createHmac("sha256", secret)
		.update(`v0:${time}:${body}`)
		.digest("hex");
	return {
		headers: {
			...json,
			"x-slack-request-timestamp": String(time),
			"x-slack-signature": `v0=${signature}`,
		},
		body,
	};
}

/** By the name of the example. */
export const pageTraffic: Record<string, ProviderTraffic> = {
	github: { event: byGitHubsWay, hasKey: true },
	meta: {
		event: byGitHubsWay,
		challenges: () => [
			[
				{
					method: "GET",
					query:
						"hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=x",
				},
				{ status: 200, body: "1158201444" },
			],
		],
		hasKey: true,
	},
	stripe: {
		event: () => ({
			headers: {
				...json,
				"stripe-signature": new Stripe(
					"sk_test",
				).webhooks.generateTestHeaderString({ payload: body, secret }),
			},
			body,
		}),
		hasKey: true,
	},
	shopify: {
		event: () => ({
			headers: {
				...json,
				"x-shopify-webhook-id": "w1",
				"x-shopify-hmac-sha256": createHmac("sha256", secret)
					.update(body)
					.digest("base64"),
			},
			body,
		}),
		hasKey: true,
	},
	slack: {
		event: () => slack(body),
		challenges: () => [
			[
				slack('{"type":"url_verification","challenge":"3eZbrw1a"}'),
				{ status: 200, body: "3eZbrw1a" },
			],
		],
		hasKey: true,
	},
	sns: {
		event: () => ({
			headers: {
				"content-type": "text/plain; charset=UTF-8",
				"x-amz-sns-message-type": "Notification",
			},
			body: topic.notification(),
		}),
		otherBody: topic.notification({ Message: "x" }),
		isProvenInBody: true,
		hasKey: true,
	},
	twilio: { event: traffic.twilio!.event, hasKey: true },
	svix: {
		secret: svixSecret,
		event: () => {
			const now = new Date();
			return {
				headers: {
					...json,
					"svix-id": "msg_1",
					"svix-timestamp": String(Math.floor(now.getTime() / 1_000)),
					"svix-signature": new Webhook(svixSecret).sign("msg_1", now, body),
				},
				body,
			};
		},
		hasKey: true,
	},
	pubsub: traffic["google-pubsub"]!,
	pages: { event: () => ({ headers: json, body }), isOpen: true },
};
