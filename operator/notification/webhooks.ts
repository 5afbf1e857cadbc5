import type { Pipeline, Source } from "../../crds/generated/types.ts";
import type { NotificationWebhook } from "../../packages/contracts/notification.ts";
import {
	webhookDigest,
	webhookPurpose,
} from "../../packages/contracts/notification.ts";
import type { Secret } from "../../packages/kube/kinds.ts";
import type { SealKey, SecretSealer } from "../../packages/service/seal-key.ts";
import { withoutLineEnd } from "../../packages/service/secret-files.ts";
import type { Reason } from "../reconcile/reasons.ts";
import { namesIn, webhookSecrets } from "../reconcile/secret-names.ts";
import { secretValue } from "../reconcile/secret-ref.ts";

/** A webhook to call, ready to hand over. */
export interface SealedWebhook {
	/** Name of its Secret. */
	secret: string;
	sealed: string;
	/** Id of the seal key. */
	sealKeyId?: string;
	/** By which the deliveries of orders are known that other keys have sealed. */
	otherDigests?: readonly string[];
}

/** Where a resource's notifications go. */
export interface NotificationWebhooks {
	usable: SealedWebhook[];
	/** What is wrong with the first of the others. */
	problem?: WebhookProblem;
}

export interface WebhookProblem {
	reason: Reason<"Pipeline", "NotificationsDelivered">;
	message: string;
}

/** The names of the Secrets whose webhooks a resource calls. */
export function webhookSecretsOf(resource: Pipeline | Source): string[] {
	return namesIn(webhookSecrets(resource));
}

/** Pure. @param secretOf a Secret of the namespace, with or without the label; undefined if it doesn't exist. */
export function webhooksOf(
	resource: Pipeline | Source,
	secretOf: (name: string) => Secret | undefined,
	sealKey: SecretSealer | undefined,
): NotificationWebhooks {
	const namespace = resource.metadata.namespace!;
	const webhooks: NotificationWebhooks = { usable: [] };
	for (const secret of webhookSecretsOf(resource)) {
		const found = secretOf(secret);
		const isNamed = resource.spec.notify?.secretRefs !== undefined;
		if (!found && !isNamed) continue;
		const webhook = webhookIn(found, { namespace, name: secret });
		if ("problem" in webhook) webhooks.problem ??= webhook.problem;
		else if (!sealKey)
			webhooks.problem ??= {
				reason: "SealKeyMissing",
				message:
					"The operator has no key to seal webhooks with. Set TIDEMILL_SEAL_KEY of operator and notify to a file with the same random characters.",
			};
		else {
			const seal = (key: SealKey) =>
				key.seal(
					Buffer.from(JSON.stringify(webhook.webhook)),
					webhookPurpose(namespace),
				);
			const [current, ...others] = sealKey.all;
			webhooks.usable.push({
				secret,
				sealed: seal(current!),
				sealKeyId: current!.id,
				...(others.length > 0 && {
					otherDigests: others.map((key) =>
						webhookDigest({ sealed: seal(key) }),
					),
				}),
			});
		}
	}
	return webhooks;
}

function webhookIn(
	secret: Secret | undefined,
	{ namespace, name }: { namespace: string; name: string },
): { webhook: NotificationWebhook } | { problem: WebhookProblem } {
	const field = "spec.notify.secretRefs";
	const url = secretValue(secret, { namespace, name, key: "url", field });
	if ("fault" in url) return { problem: url.fault };
	const invalid = (key: string, fault: string) => ({
		problem: {
			reason: "WebhookInvalid",
			message: `Key "${key}" of Secret "${name}" ${fault}`,
		} as const,
	});
	const text = textOf(url.value);
	if (!/^https?:\/\/[^/]/i.test(text) || !URL.canParse(text))
		return invalid("url", "must be a URL that begins with https://.");
	if (Buffer.byteLength(text) > maxURLBytes)
		return invalid("url", `has more than ${maxURLBytes} bytes.`);
	const format = textOf(decoded(secret, "format") ?? "StandardWebhooks");
	if (format === "Slack") return { webhook: { url: text, format } };
	if (format !== "StandardWebhooks")
		return invalid("format", "must be StandardWebhooks or Slack.");
	const signingKey = signingKeyIn(textOf(decoded(secret, "signingSecret")));
	if (!signingKey)
		return invalid(
			"signingSecret",
			'must be "whsec_" and 24 to 64 random bytes in Base64, such as: echo "whsec_$(openssl rand -base64 32)". A webhook of Slack needs none: set the key "format" to Slack.',
		);
	return { webhook: { url: text, format, signingKey } };
}

const maxURLBytes = 2_048;

function decoded(secret: Secret | undefined, key: string): Buffer | undefined {
	const value = secret?.data?.[key];
	return value === undefined ? undefined : Buffer.from(value, "base64");
}

function textOf(value: Buffer | string = ""): string {
	return withoutLineEnd(value.toString());
}

/** In Base64; undefined if it is none (Standard Webhooks, "Signature scheme": 24 to 64 bytes). */
function signingKeyIn(text: string): string | undefined {
	const [, base64] = /^whsec_([A-Za-z0-9+/]+=*)$/.exec(text) ?? [];
	const length = Buffer.from(base64 ?? "", "base64").length;
	return length >= 24 && length <= 64 ? base64 : undefined;
}
