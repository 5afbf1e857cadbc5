// standardwebhooks: the specification's own library checks what we sign.
import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import type { NotificationWebhook } from "../../packages/contracts/notification.ts";
import { signedRequest } from "./signed-request.ts";

const content = {
	account: "shop",
	kind: "Pipeline",
	name: "load-orders",
	notification: {
		id: "msg_1",
		type: "RunFailed",
		time: "2026-11-23T06:00:00Z",
		message: 'Run "a" failed: <!channel> & more',
		run: "a",
	},
} as const;
const signingKey = Buffer.from("0123456789abcdef01234567").toString("base64");
const webhook: NotificationWebhook = {
	url: "https://example.com/hook",
	format: "StandardWebhooks",
	signingKey,
};

test("the library of Standard Webhooks verifies a request, and refuses it with another key", () => {
	const { headers, body } = signedRequest(content, webhook, Date.now());
	expect(new Webhook(`whsec_${signingKey}`).verify(body, headers)).toEqual({
		type: "run.failed",
		timestamp: "2026-11-23T06:00:00Z",
		data: {
			namespace: "shop",
			kind: "Pipeline",
			name: "load-orders",
			run: "a",
			message: 'Run "a" failed: <!channel> & more',
		},
	});
	expect(headers["webhook-id"]).toBe("msg_1");
	const other = new Webhook(`whsec_${"A".repeat(32)}`);
	expect(() => other.verify(body, headers)).toThrow();
});

test("Slack gets its own format, in which a message can't call people", () => {
	const slack = { url: webhook.url, format: "Slack" } as const;
	const { headers, body } = signedRequest(content, slack, Date.now());
	expect(JSON.parse(body)).toEqual({
		text: ':red_circle: *Pipeline shop/load-orders*\nRun "a" failed: &lt;!channel&gt; &amp; more',
	});
	expect(headers).not.toHaveProperty("webhook-signature");
});
