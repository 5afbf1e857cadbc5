import { expect, test } from "vitest";
import type { Pipeline } from "../../crds/generated/types.ts";
import type { Secret } from "../../packages/kube/kinds.ts";
import { SealKey } from "../../packages/service/seal-key.ts";
import {
	pipelineOf,
	sourceOf,
} from "../../test/support/examples/resource-examples.ts";
import { defaultWebhookSecret as defaultSecret } from "../reconcile/secret-names.ts";
import { webhooksOf } from "./webhooks.ts";

const sealKey = new SealKey(Buffer.alloc(32, 7));
const url = "https://hooks.example.com/T/hush";
const signingSecret = `whsec_${Buffer.alloc(24, 1).toString("base64")}`;

function secretOf(data: Record<string, string>, labelled = true): Secret {
	return {
		apiVersion: "v1",
		kind: "Secret",
		metadata: {
			name: "any",
			labels: labelled ? { "tidemill.dev/use": "true" } : {},
		},
		data: Object.fromEntries(
			Object.entries(data).map(([key, value]) => [
				key,
				Buffer.from(value).toString("base64"),
			]),
		),
	} as Secret;
}

function found(
	secrets: Record<string, Secret>,
	notify?: Pipeline["spec"]["notify"],
) {
	const pipeline = pipelineOf(notify && { notify });
	return webhooksOf(pipeline, (name) => secrets[name], sealKey);
}

function opened(sealed: string, account = "shop") {
	return JSON.parse(sealKey.open(sealed, `notification ${account}`).toString());
}

test("a Pipeline without spec.notify calls the namespace's webhook, if there is one", () => {
	expect(found({})).toEqual({ usable: [] });
	const { usable } = found({
		[defaultSecret]: secretOf({ url: `${url}\n`, signingSecret }),
	});
	expect(usable).toEqual([
		{
			secret: defaultSecret,
			sealed: expect.any(String),
			sealKeyId: sealKey.id,
		},
	]);
	expect(opened(usable[0]!.sealed)).toEqual({
		url,
		format: "StandardWebhooks",
		signingKey: signingSecret.slice("whsec_".length),
	});
});

test("only Sources that say when they are quiet call the namespace's webhook", () => {
	const secrets = () => secretOf({ url, signingSecret });
	const source = sourceOf();
	expect(webhooksOf(source, secrets, sealKey).usable).toEqual([]);
	source.spec.notify = { quietAfter: "1h" };
	expect(webhooksOf(source, secrets, sealKey).usable).toHaveLength(1);
});

test("Secrets that are named take the place of the namespace's", () => {
	const slack = secretOf({ url, format: "Slack" });
	const other = secretOf({ url: "https://other.example", signingSecret });
	const { usable } = found(
		{ slack, other, [defaultSecret]: other },
		{ secretRefs: [{ name: "slack" }, { name: "other" }] },
	);
	expect(usable.map(({ secret }) => secret)).toEqual(["slack", "other"]);
	expect(opened(usable[0]!.sealed)).toEqual({ url, format: "Slack" });
});

test("a sealed webhook shows nothing of it, and no other account's order can carry it", () => {
	const { usable } = found({
		[defaultSecret]: secretOf({ url, signingSecret }),
	});
	const { sealed } = usable[0]!;
	expect(Buffer.from(sealed, "base64").includes("hush")).toBe(false);
	expect(() => opened(sealed, "billing")).toThrow();
});

test.each([
	["SecretNotFound", undefined, 'no Secret "a"'],
	[
		"SecretNotLabelled",
		secretOf({ url, signingSecret }, false),
		"lacks the label",
	],
	["SecretKeyNotFound", secretOf({ signingSecret }), 'no key "url"'],
	["WebhookInvalid", secretOf({ url: "ftp://x", signingSecret }), '"url"'],
	[
		"WebhookInvalid",
		secretOf({ url: `${url}${"x".repeat(2_048)}`, signingSecret }),
		'"url"',
	],
	[
		"WebhookInvalid",
		secretOf({ url }),
		'"signingSecret" of Secret "a" must be "whsec_"',
	],
	[
		"WebhookInvalid",
		secretOf({ url, signingSecret: "whsec_c2hvcnQ=" }),
		"24 to 64",
	],
	[
		"WebhookInvalid",
		secretOf({ url, signingSecret, format: "Teams" }),
		'"format"',
	],
])("%s is told, and the other webhooks are called", (reason, a, message) => {
	const webhooks = found(
		{ ...(a && { a }), b: secretOf({ url, signingSecret }) },
		{ secretRefs: [{ name: "a" }, { name: "b" }] },
	);
	expect(webhooks.problem).toEqual({
		reason,
		message: expect.stringContaining(message),
	});
	expect(webhooks.problem!.message).not.toMatch(/hush|c2hvcnQ/);
	expect(webhooks.usable.map(({ secret }) => secret)).toEqual(["b"]);
});

test("without a seal key no webhook is called", () => {
	const secrets = () => secretOf({ url, signingSecret });
	expect(webhooksOf(pipelineOf(), secrets, undefined)).toMatchObject({
		usable: [],
		problem: { reason: "SealKeyMissing" },
	});
});
