import { isDeepStrictEqual } from "node:util";
import type { Source, SourceWebhook } from "../../../crds/generated/types.ts";
import {
	type Route,
	routeKey,
	type SignatureScheme,
} from "../../../packages/contracts/route.ts";
import type { RoutePlan } from "../../../packages/contracts/tracking-plan.ts";
import type { URLChallenge } from "../../../packages/contracts/url-challenge.ts";
import type { Secret } from "../../../packages/kube/kinds.ts";
import type { SecretSealer } from "../../../packages/service/seal-key.ts";
import { authorize, secretNames, webhookOf } from "./authorization.ts";
import {
	digest,
	followedKeys,
	keysSecretName,
	readKeys,
	type SourceKeys,
} from "./keys.ts";

/** What to change so that receivers have exactly the desired routes. */
export interface RouteChanges {
	/** Routes whose source key nobody owns. They are put after it is taken. */
	take: Route[];
	put: Route[];
	/** Bucket keys without a desired route. */
	remove: string[];
}

/**
 * Compares what Sources want with what is in NATS.
 * @param desired Oldest Source first: of two Sources with one source key, the older one has it.
 * @param owners Source key → account.
 * @param published Bucket key → route; undefined for an unreadable entry.
 */
export function decide(
	desired: Route[],
	owners: ReadonlyMap<string, string>,
	published: ReadonlyMap<string, Route | undefined>,
): RouteChanges {
	const plan: RouteChanges = { take: [], put: [], remove: [] };
	const seen = new Set<string>();
	const kept = new Set<string>();
	for (const route of desired) {
		if (seen.has(route.sourceKey)) continue;
		const keyOwner = owners.get(route.sourceKey);
		// An older Source of another account does not take the key from its owner.
		if (keyOwner !== undefined && keyOwner !== route.account) continue;
		seen.add(route.sourceKey);
		if (keyOwner === undefined) {
			plan.take.push(route);
			continue;
		}
		const key = routeKey(route.sourceKey);
		kept.add(key);
		if (!isDeepStrictEqual(published.get(key), route)) plan.put.push(route);
	}
	for (const key of published.keys()) if (!kept.has(key)) plan.remove.push(key);
	return plan;
}

/** What routes are made of, beside the Sources. */
export interface RouteFacts {
	/** A labelled Secret by namespace and name. */
	secretOf: (namespace: string, name: string) => Secret | undefined;
	/** The operator has never been let read the namespace's Secrets, or hasn't yet read one of these. */
	isUnknown: (namespace: string, names: readonly string[]) => boolean;
	/** The route in the bucket, by source key. */
	published: (sourceKey: string) => Route | undefined;
	/** The Source's shards in NATS, by source key. */
	shardsOf: (sourceKey: string) => readonly number[];
	/** How many shards there are. */
	shards: number;
	sealKey: SecretSealer | undefined;
	/** What every webhook URL begins with. */
	receiveURL: string;
	/** The plan that validates a Source's events; undefined if it names none. */
	planOf: (source: Source, sourceKey: string) => RoutePlan | undefined;
}

/**
 * The routes that all Sources want, the oldest Source's first. A Source without keys, or one that is being deleted, has
 * none. Where the operator may not read Secrets, or has yet to, a Source keeps the route that it has: senders must not get 404
 * because a binding is missing.
 */
export function desiredRoutes(sources: Source[], facts: RouteFacts): Route[] {
	const { secretOf, isUnknown, published, sealKey, receiveURL, planOf } = facts;
	return byAge(sources)
		.filter(({ metadata }) => !metadata.deletionTimestamp)
		.flatMap((source) => {
			const { name, namespace } = source.metadata;
			const named = [keysSecretName(name), ...secretNames(source)];
			if (isUnknown(namespace!, named)) {
				const route = published(source.status?.sourceKey ?? "");
				const isOurs = route?.account === namespace && route?.source === name;
				return isOurs ? [route] : [];
			}
			const keys = keysOf(source, facts);
			if (!keys) return [];
			const { authorization } = authorize(source, {
				secretOf: (name) => secretOf(namespace!, name),
				sealKey,
				receiveURL,
				sourceKey: keys.sourceKey,
			});
			const plan = planOf(source, keys.sourceKey);
			return [routeOf(source, keys, authorization, plan)];
		});
}

/** Undefined if the Source has no Secret, or a damaged one. */
export function keysOf(
	source: Source,
	{ secretOf, published, shardsOf, shards }: RouteFacts,
): SourceKeys | undefined {
	const { name, namespace } = source.metadata;
	const issued = secretOf(namespace!, keysSecretName(name));
	const found = issued && readKeys(issued, name);
	if (!found) return undefined;
	const route = published(found.sourceKey);
	return followedKeys(source, found, {
		published: route?.account === namespace ? route : undefined,
		known: shardsOf(found.sourceKey),
		shards,
	});
}

function byAge(sources: Source[]): Source[] {
	const aged = sources.map((source) => {
		const { creationTimestamp, namespace, name } = source.metadata;
		return { source, age: `${creationTimestamp} ${namespace}/${name}` };
	});
	// Not with an age made for each comparison: a list of thousands takes many.
	return aged
		.sort((a, b) => (a.age < b.age ? -1 : 1))
		.map(({ source }) => source);
}

/** What receivers need to serve a Source. */
export function routeOf(
	source: Source,
	keys: Omit<SourceKeys, "shards">,
	authorization: Route["authorization"],
	plan?: RoutePlan,
): Route {
	const { suspend } = source.spec;
	const webhook = webhookOf(source);
	const { cors, idempotency, response, onEmptyBody } = webhook;
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
		...(response && { response: { ...plainAnswer, body: "", ...response } }),
		...(onEmptyBody === "StoreNull" && { emptyBody: "Null" }),
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
	const { allowGet = false, handshakes = [], challenges } = verification ?? {};
	const own =
		type === "AmazonSNS" ? "SNS" : signature && handshakeOf[signature.scheme];
	if (!verification && !own) return {};
	const all = new Set<Handshake>([...handshakes, ...(own ? [own] : [])]);
	return {
		verification: {
			allowGet,
			handshakes: [...all],
			...(challenges?.length && { challenges: challenges.map(challengeOf) }),
		},
	};
}

type AskedChallenge = NonNullable<
	NonNullable<SourceWebhook["verification"]>["challenges"]
>[number];

function challengeOf({ match, answer }: AskedChallenge): URLChallenge {
	return { match, answer: { ...plainAnswer, template: "", ...answer } };
}

const plainAnswer = { status: 200, contentType: "text/plain" } as const;

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
	// docs.github.com, "Delivery headers": the event's id, the same for each webhook that it is delivered to, and when it is sent again.
	GitHub: { header: "x-github-delivery", within: "x-github-hook-id" },
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
