/** What a Source must know of who sends to it, and what people must know of the sender. */
export interface Provider {
	title: string;
	/** A Source's `spec.webhook`. Each secret in it is named `provider`. */
	webhook: object;
	/** Where an event's type is. Absent where the provider has no types. */
	eventType?: { header: string } | { bodyPointer: string };
	/** Which secret the provider signs with, for people. Absent if there is none. */
	secret?: string;
	/** Where the URL goes, for people. */
	paste: string;
}

/** What a Source knows by name. The pages of docs/senders are made of it. */
export const providers: Record<string, Provider> = {
	github: {
		title: "GitHub",
		webhook: {
			...signed("GitHub"),
			capturedHeaders: ["x-github-event", "x-github-delivery"],
		},
		eventType: { header: "x-github-event" },
		secret: "the webhook's secret, which you choose",
		paste:
			"the repository's or organization's Settings, Webhooks, Add webhook: the URL as Payload URL, the content type application/json, and the secret",
	},
	stripe: {
		title: "Stripe",
		webhook: signed("Stripe"),
		eventType: { bodyPointer: "/type" },
		secret:
			"the endpoint's signing secret, whsec_…, which Stripe shows once it has the URL",
		paste:
			"https://dashboard.stripe.com/workbench/webhooks, Add destination, Webhook endpoint",
	},
	shopify: {
		title: "Shopify",
		webhook: {
			...signed("Shopify"),
			capturedHeaders: [
				"x-shopify-topic",
				"x-shopify-shop-domain",
				"x-shopify-triggered-at",
				// Without these two, Shopify's library takes no replayed event.
				"x-shopify-webhook-id",
				"x-shopify-api-version",
			],
		},
		eventType: { header: "x-shopify-topic" },
		secret: "the app's client secret",
		paste:
			"the app's configuration, or the store's Settings, Notifications, Webhooks, with the format JSON",
	},
	slack: {
		title: "Slack",
		webhook: signed("Slack"),
		eventType: { bodyPointer: "/event/type" },
		secret: "the app's signing secret",
		paste:
			"https://api.slack.com/apps, your app, Event Subscriptions, Request URL",
	},
	sns: {
		title: "Amazon SNS",
		webhook: {
			authorization: { type: "AmazonSNS", amazonSNS: { topicARNs: [] } },
			idempotency: { key: { preset: "SNS" } },
		},
		eventType: { header: "x-amz-sns-message-type" },
		paste:
			"the topic's Create subscription, with the protocol HTTPS and without raw message delivery",
	},
	meta: {
		title: "Meta",
		webhook: signed("Meta", "Signature"),
		eventType: { bodyPointer: "/object" },
		secret: "the app secret",
		paste:
			"https://developers.facebook.com/apps, your app, Webhooks, Callback URL, with any verify token",
	},
	twilio: {
		title: "Twilio",
		webhook: signed("Twilio"),
		eventType: { bodyPointer: "/EventType" },
		secret: "the account's auth token",
		paste: "the Twilio Console, where your product asks for a webhook URL",
	},
	svix: {
		title: "Svix",
		webhook: signed("Svix"),
		eventType: { bodyPointer: "/type" },
		secret: "the endpoint's signing secret, whsec_…",
		paste: "the application's Endpoints, Add Endpoint",
	},
	"standard-webhooks": {
		title: "Standard Webhooks",
		webhook: signed("StandardWebhooks"),
		eventType: { bodyPointer: "/type" },
		secret: "the signing secret whsec_…, or the public key whpk_…",
		paste: "the provider's settings, where it asks for a webhook URL",
	},
	form: {
		title: "a form",
		webhook: {},
		paste: 'the form itself: <form method="post" action="the URL">',
	},
};

function signed(scheme: string, preset = scheme): object {
	return {
		authorization: {
			type: "Signature",
			signature: { scheme, secretRefs: [{ name: "provider", key: "secret" }] },
		},
		idempotency: { key: { preset } },
	};
}
