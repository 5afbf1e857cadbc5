import { createHmac } from "node:crypto";
import type {
	NotificationOrder,
	NotificationWebhook,
} from "../../packages/contracts/notification.ts";
import { slackText } from "../../packages/escapes/markup.ts";

export interface SignedRequest {
	headers: Record<string, string>;
	body: string;
}

type Content = Pick<
	NotificationOrder,
	"account" | "kind" | "name" | "notification"
>;

/**
 * The request that tells a notification to a webhook.
 * @param nowMs when it is sent: a signature is of an attempt (https://github.com/standard-webhooks/standard-webhooks).
 */
export function signedRequest(
	content: Content,
	webhook: NotificationWebhook,
	nowMs: number,
): SignedRequest {
	return webhook.format === "Slack"
		? plain(JSON.stringify({ text: slackMessage(content) }))
		: standardWebhook(content, webhook, nowMs);
}

function plain(body: string): SignedRequest {
	return {
		headers: {
			"content-type": "application/json",
			"content-length": String(Buffer.byteLength(body)),
			"user-agent": "tidemill-notify",
		},
		body,
	};
}

function standardWebhook(
	{ account, kind, name, notification }: Content,
	{ signingKey = "" }: NotificationWebhook,
	nowMs: number,
): SignedRequest {
	const { id, type, time, message, run } = notification;
	const { body, headers } = plain(
		JSON.stringify({
			type: typeNames[type],
			timestamp: time,
			data: { namespace: account, kind, name, ...(run && { run }), message },
		}),
	);
	const seconds = Math.floor(nowMs / 1000);
	const signature = createHmac("sha256", Buffer.from(signingKey, "base64"))
		.update(`${id}.${seconds}.${body}`)
		.digest("base64");
	return {
		headers: {
			...headers,
			"webhook-id": id,
			"webhook-timestamp": String(seconds),
			"webhook-signature": `v1,${signature}`,
		},
		body,
	};
}

/** Names of types have full stops by the specification. They are API: add, never rename. */
const typeNames = {
	RunFailed: "run.failed",
	RunRecovered: "run.recovered",
	RunLate: "run.late",
	ValuesUnfit: "values.unfit",
	ValuesRecovered: "values.recovered",
	SourceQuiet: "source.quiet",
	SourceRecovered: "source.recovered",
} as const satisfies Record<Content["notification"]["type"], string>;

const slackMarks: Record<Content["notification"]["type"], string> = {
	RunFailed: ":red_circle:",
	RunRecovered: ":large_green_circle:",
	RunLate: ":large_orange_circle:",
	ValuesUnfit: ":large_orange_circle:",
	ValuesRecovered: ":large_green_circle:",
	SourceQuiet: ":large_orange_circle:",
	SourceRecovered: ":large_green_circle:",
};

function slackMessage({ account, kind, name, notification }: Content): string {
	const { type, message } = notification;
	return `${slackMarks[type]} *${kind} ${account}/${name}*\n${slackText(message)}`;
}
