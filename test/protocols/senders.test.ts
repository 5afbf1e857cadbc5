import { createHmac, hash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { join } from "node:path";
import { sign as signForGitHub } from "@octokit/webhooks-methods";
import { Webhook } from "standardwebhooks";
import Stripe from "stripe";
import { beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import type { Source } from "../../crds/generated/types.ts";
import { validateSpec } from "../../crds/spec-validator.ts";
import { RequestAdmission } from "../../ingest/receive/admission/admission.ts";
import { MemoryBudget } from "../../ingest/receive/admission/budget.ts";
import { RequestLimits } from "../../ingest/receive/admission/limits.ts";
import { AmazonSns } from "../../ingest/receive/body/amazon-sns.ts";
import { NotifyQuestions } from "../../ingest/receive/body/notify-questions.ts";
import {
	type BodyOutcome,
	SentBody,
} from "../../ingest/receive/body/sent-body.ts";
import { validateHead } from "../../ingest/receive/request/request-head.ts";
import { RouteTable } from "../../ingest/receive/request/route-table.ts";
import { authorize } from "../../operator/source/routes/authorization.ts";
import { routeOf } from "../../operator/source/routes/decide.ts";
import { routeKey } from "../../packages/contracts/route.ts";
import { SealKey } from "../../packages/service/seal-key.ts";
import { type SnsTopic, snsTopic } from "../support/senders/sns-topic.ts";

/* Each example of docs/senders.md, from the Source to the verdict of receive: operator's half of the way, then receive's. */

const page = readFileSync(
	join(import.meta.dirname, "../../docs/senders.md"),
	"utf8",
);
const examples = new Map<string, Source>(
	[...page.matchAll(/^```yaml\n(.*?)^```/gms)].map(([, yaml]) => {
		const source = parse(yaml!) as Source;
		return [source.metadata.name, source];
	}),
);
const secret = `whsec_${Buffer.alloc(24, 7).toString("base64")}`;
const sealKey = new SealKey(Buffer.alloc(32, 7));
const keys = { sourceKey: "a".repeat(32), urlKey: "b".repeat(32), shard: 0 };
const receiveURL = "https://hooks.example.com";
const nowMs = Date.parse("2026-03-01T12:00:00Z");

let topic: SnsTopic;
beforeAll(async () => {
	topic = await snsTopic();
});

interface Sent {
	headers: IncomingHttpHeaders;
	body: string;
	query?: string;
}

/** What receive makes of a request to the example's Source. */
async function received(name: string, sent: Sent): Promise<BodyOutcome> {
	const source = structuredClone(examples.get(name)!);
	expect(validateSpec("Source", source.spec)).toEqual([]);
	source.metadata.namespace = "shop";
	const { webhook } = source.spec;
	// As the CRD's defaults fill them in.
	webhook!.authorization ??= { type: "None" };
	const { signature } = webhook!.authorization;
	webhook!.maxBodyBytes ??= 1_048_576;
	if (signature) signature.toleranceSeconds ??= 300;
	if (webhook!.idempotency) webhook!.idempotency.windowSeconds ??= 86_400;
	const { authorization, problem } = authorize(source, {
		secretOf: () => ({
			metadata: { name: "provider", labels: { "tidemill.dev/use": "true" } },
			data: { secret: Buffer.from(secret).toString("base64") },
		}),
		sealKey,
		sourceKey: keys.sourceKey,
		receiveURL,
	});
	expect(problem).toBeUndefined();
	const table = new RouteTable(sealKey);
	const key = routeKey(keys.sourceKey);
	table.set(key, JSON.stringify(routeOf(source, keys, authorization)));
	const route = table.find(keys.sourceKey)!;
	const address = { ...keys, token: undefined, query: sent.query };
	const head = validateHead({ route, address }, "POST", sent.headers, nowMs);
	if (!("route" in head)) return head;
	const limits = new RequestLimits(new MemoryBudget(1_000, 10_000_000));
	const end = () => {};
	const admission = RequestAdmission.enter(route, limits, {
		begin: end,
		giveUp: end,
		tooSlow: end,
	})!;
	const body = Buffer.from(sent.body);
	admission.take(body.length);
	const sns = new AmazonSns(
		new NotifyQuestions(async () => ({
			ok: true,
			text: topic.certificate,
		})),
	);
	return new Promise((resolve) => {
		new SentBody(
			head,
			sent.headers,
			admission,
			limits,
			{ sns },
			resolve,
		).validate([body]);
	});
}

const json = { "content-type": "application/json" };
const seconds = nowMs / 1_000;
const body = '{"id":"evt_1","event_id":"evt_1","type":"a","n":1.0}';
const form = "MessageSid=SM1&Body=K%C3%A4se+1&From=%2B49&Empty=";

/** What each provider sends, and the key that is the same when it sends again. */
const senders: Record<string, () => Promise<Sent & { key: string }>> = {
	github: async () => ({
		headers: {
			...json,
			"x-github-delivery": "d1",
			"x-hub-signature-256": await signForGitHub(secret, body),
		},
		body,
		key: "d1",
	}),
	stripe: async () => ({
		headers: {
			...json,
			"stripe-signature": new Stripe(
				"sk_test",
			).webhooks.generateTestHeaderString({
				payload: body,
				secret,
				timestamp: seconds,
			}),
		},
		body,
		key: "evt_1",
	}),
	shopify: async () => ({
		headers: {
			...json,
			"x-shopify-webhook-id": "w1",
			"x-shopify-hmac-sha256": createHmac("sha256", secret)
				.update(body)
				.digest("base64"),
		},
		body,
		key: "w1",
	}),
	slack: async () => ({
		headers: {
			...json,
			"x-slack-request-timestamp": String(seconds),
			"x-slack-signature": `v0=${createHmac("sha256", secret).update(`v0:${seconds}:${body}`).digest("hex")}`,
		},
		body,
		key: "evt_1",
	}),
	sns: async () => ({
		headers: {
			"content-type": "text/plain; charset=UTF-8",
			"x-amz-sns-message-type": "Notification",
		},
		body: topic.notification(),
		key: "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
	}),
	meta: async () => ({
		headers: {
			...json,
			"x-hub-signature-256": await signForGitHub(secret, body),
		},
		body,
		key: body,
	}),
	twilio: async () => {
		const signed = `${receiveURL}/hooks/${keys.sourceKey}/${keys.urlKey}BodyKäse 1EmptyFrom+49MessageSidSM1`;
		return {
			headers: {
				"content-type": "application/x-www-form-urlencoded",
				"i-twilio-idempotency-token": "t1",
				"x-twilio-signature": createHmac("sha1", secret)
					.update(signed)
					.digest("base64"),
			},
			body: form,
			key: "t1",
		};
	},
	svix: async () => ({
		headers: {
			...json,
			"svix-id": "msg_1",
			"svix-timestamp": String(seconds),
			"svix-signature": new Webhook(secret).sign(
				"msg_1",
				new Date(nowMs),
				body,
			),
		},
		body,
		key: "msg_1",
	}),
	pages: async () => ({ headers: json, body, key: "" }),
};

test("the page has an example for each provider, and no other", () => {
	expect([...examples.keys()].toSorted()).toEqual(
		Object.keys(senders).toSorted(),
	);
});

test.each(Object.keys(senders))(
	"the example %s accepts what its provider sends, and knows the delivery again",
	async (name) => {
		const { key, ...sent } = await senders[name]!();
		const digest =
			key && hash("sha256", `${keys.sourceKey}\n${key}`).slice(0, 32);
		expect(await received(name, sent)).toMatchObject({
			key: digest || undefined,
		});
	},
);

test.each(Object.keys(senders).filter((name) => name !== "pages"))(
	"the example %s refuses what another than its provider sends",
	async (name) => {
		const { key, ...sent } = await senders[name]!();
		const changed = sent.body.replace("a", "b").replace("K", "L");
		for (const forged of [
			{ ...sent, body: changed },
			{ ...sent, headers: json },
		].filter((each) => name !== "sns" || each.body === changed))
			expect(await received(name, forged)).toMatchObject({
				code: "SignatureInvalid",
			});
	},
);
