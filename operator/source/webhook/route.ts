import type { Source, SourceWebhook } from "../../../crds/generated/types.ts";
import type {
	Route,
	SignatureScheme,
} from "../../../packages/contracts/route.ts";
import type { RoutePlan } from "../../../packages/contracts/tracking-plan.ts";
import { digest, type SourceKeys } from "./keys.ts";
import { webhookOf } from "./settings.ts";

/** What receivers need to serve a Source. */
export function routeOf(
	source: Source,
	keys: Omit<SourceKeys, "shards">,
	authorization: Route["authorization"],
	plan?: RoutePlan,
): Route {
	const { suspend } = source.spec;
	const webhook = webhookOf(source);
	const { cors, idempotency } = webhook;
	return {
		version: 1,
		account: source.metadata.namespace!,
		source: source.metadata.name,
		sourceKey: keys.sourceKey,
		urlKeyDigest: digest(keys.urlKey),
		shard: keys.shard,
		suspended: suspend,
		authorization,
		maxBodyBytes: webhook.maxBodyBytes,
		...verificationOf(webhook),
		...(cors && { cors: { allowedOrigins: cors.allowedOrigins } }),
		...(idempotency && {
			idempotency: {
				key: placeOf(idempotency.key),
				windowSeconds: idempotency.windowSeconds,
			},
		}),
		capturedHeaders: webhook.capturedHeaders ?? [],
		...(webhook.capturedQueryParameters?.length && {
			capturedParameters: webhook.capturedQueryParameters,
		}),
		...(plan && { plan }),
	};
}

/** Who checks URLs and signs brings the handshake along. */
const handshakeOf: Partial<Record<SignatureScheme, Handshake>> = {
	Slack: "Slack",
	Meta: "Meta",
};

function verificationOf({
	verification,
	authorization: { type, signature },
}: SourceWebhook): Pick<Route, "verification"> {
	const { allowGet = false, handshakes = [] } = verification ?? {};
	const own =
		type === "AmazonSNS" ? "SNS" : signature && handshakeOf[signature.scheme];
	if (!verification && !own) return {};
	const all = new Set<Handshake>([...handshakes, ...(own ? [own] : [])]);
	return { verification: { allowGet, handshakes: [...all] } };
}

type Asked = NonNullable<SourceWebhook["idempotency"]>["key"];
type Handshake = NonNullable<Route["verification"]>["handshakes"][number];
type Place = NonNullable<Route["idempotency"]>["key"];

/** The CRD makes sure that exactly one is set. */
function placeOf({
	preset,
	header,
	queryParameter,
	bodyPointer,
}: Asked): Place {
	if (preset) return presets[preset];
	if (header !== undefined) return { header };
	return queryParameter === undefined
		? { bodyPointer: bodyPointer! }
		: { parameter: queryParameter };
}

const presets: Record<NonNullable<Asked["preset"]>, Place> = {
	// github.com/standard-webhooks/standard-webhooks, spec: "a unique identifier for the webhook message".
	StandardWebhooks: { header: "webhook-id" },
	// docs.stripe.com/webhooks, "Handle duplicate events": the event object's id.
	Stripe: { bodyPointer: "/id" },
	// docs.github.com, "Delivery headers": the same when a delivery is sent again.
	GitHub: { header: "x-github-delivery" },
	// shopify.dev, "Ignore duplicates": the same for all tries of one delivery.
	Shopify: { header: "x-shopify-webhook-id" },
	// docs.svix.com, "Verifying payloads manually": the same for all tries of one message.
	Svix: { header: "svix-id" },
	// docs.slack.dev, "Events API": "globally unique across all workspaces".
	Slack: { bodyPointer: "/event_id" },
	// twilio.com/docs/usage/webhooks/webhooks-connection-overrides: the same for all tries.
	Twilio: { header: "i-twilio-idempotency-token" },
	// docs.aws.amazon.com/sns/latest/dg/http-notification-json.html: the same for all tries of one message.
	SNS: { bodyPointer: "/MessageId" },
	Signature: { signature: true },
};
