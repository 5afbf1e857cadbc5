import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { TrackingPlanSpec } from "../../crds/generated/types.ts";
import { UsageError } from "../command/errors.ts";
import { nearest } from "../command/nearest.ts";

/** What a Source must know of who sends to it, and what people must know of the sender. */
export interface Provider {
	title: string;
	/** A Source's `spec.webhook`. Each secret in it is named `provider`. */
	webhook: object;
	/** Where an event's type is. Absent where the provider has no types. */
	eventType?: TrackingPlanSpec["eventType"];
	/** Which secret the provider signs with, for people. Absent if there is none. */
	secret?: string;
	/** Where the URL goes, for people. */
	paste: string;
}

/** What a Source knows by name. docs/senders.md has the same, step by step. */
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
		secret: "the endpoint's signing secret, whsec_…",
		paste:
			"https://dashboard.stripe.com/workbench/webhooks, Add destination, Webhook endpoint. Stripe then shows the signing secret",
	},
	shopify: {
		title: "Shopify",
		webhook: {
			...signed("Shopify"),
			capturedHeaders: [
				"x-shopify-topic",
				"x-shopify-shop-domain",
				"x-shopify-triggered-at",
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

/** Also those of examples/senders. Throws {@link UsageError} if there is none of that name. */
export async function providerNamed(name: string): Promise<Provider> {
	const known = providers[name];
	if (known) return known;
	const folder = examplesFolder(import.meta.dirname);
	const file = folder && join(folder, `${name}.yaml`);
	if (file && /^[a-z0-9-]+$/.test(name) && existsSync(file))
		return ofExample(name, await readFile(file, "utf8"));
	const names = Object.keys(providers);
	const meant = nearest(name, names);
	throw new UsageError(
		`there is no provider "${name}".${meant ? ` Did you mean "${meant}"?` : ""} There are ${names.join(", ")}, and those of examples/senders, such as paddle. docs/senders.md says how to describe another`,
	);
}

/** The first lines of such a file are for people: the provider's page, and which secret it is. */
async function ofExample(name: string, text: string): Promise<Provider> {
	const { parse } = await import("yaml");
	const { webhook } = (parse(text) as { spec: { webhook: object } }).spec;
	const [page = "", ...about] = [...text.matchAll(/^# (.*)$/gm)].map(
		([, line = ""]) => line,
	);
	const needsSecret = JSON.stringify(webhook).includes('"name":"provider"');
	return {
		title: name,
		webhook,
		...(needsSecret && { secret: about.join(" ") }),
		paste: `the provider's settings: ${page}`,
	};
}

/** The folder beside the code, or above it. */
function examplesFolder(from: string): string | undefined {
	const folder = join(from, "examples/senders");
	if (existsSync(folder)) return folder;
	return dirname(from) === from ? undefined : examplesFolder(dirname(from));
}

/** The `spec.webhook` of a Source whose secret is in the Secret of that name, and whose topics are these. */
export function webhookOf(
	{ webhook }: Provider,
	secretName: string,
	topicARNs: readonly string[] = [],
): object {
	return JSON.parse(
		JSON.stringify(webhook, (key, value) => {
			if (key === "topicARNs") return topicARNs;
			const isSecret = value?.name === "provider" && "key" in value;
			return isSecret ? { ...value, name: secretName } : value;
		}),
	);
}
