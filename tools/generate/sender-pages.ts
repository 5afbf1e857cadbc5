import { stringify } from "yaml";
import { webhookOf } from "../../cli/provider/providers.ts";
import {
	type Provider,
	providers,
} from "../../packages/contracts/providers.ts";

/** What people do at a provider, beside what its Source knows of it. */
interface Road {
	/** How the provider sends one event now. */
	testEvent: string;
	/** Of the table, as `--body-column` takes them. */
	columns: string[];
	/** What the table is for. */
	query: string;
	/** How a draft knows the types of the events that the road sends, if not as the Source does. */
	draft?: string;
	/** What is particular to the provider. */
	about?: string;
}

const topic = "arn:aws:sns:eu-west-1:123456789012:orders";

/** By the names of {@link providers}. */
const roads: Record<string, Road> = {
	github: {
		testEvent:
			"GitHub sends a `ping` at once, and Recent Deliveries has Redeliver",
		columns: ["repository=/repository/full_name:String"],
		query:
			"select repository, header_x_github_event, count(*) from github group by 1, 2",
	},
	stripe: {
		testEvent: "`stripe trigger payment_intent.succeeded`",
		columns: ["type=/type:String", "amount=/data/object/amount:Integer"],
		query:
			"select date, sum(amount) / 100 from stripe where type = 'payment_intent.succeeded' group by 1",
	},
	shopify: {
		testEvent:
			"Send test notification, beside the webhook; or `shopify app webhook trigger`",
		columns: ["total=/total_price:Decimal"],
		query:
			"select date, sum(total) from shopify where header_x_shopify_topic = 'orders/create' group by 1",
	},
	slack: {
		testEvent: "do in Slack what the app subscribes to, such as a message",
		columns: ["type=/event/type:String"],
		query: "select type, count(*) from slack group by 1",
		about:
			"Slack checks the URL with a signed request when you save it, so take step 2 before. Tidemill answers, and stores nothing.",
	},
	sns: {
		testEvent: "Publish message, in the console",
		columns: ["message=/Message:String"],
		query: "select timestamp, message from sns",
		about: `SNS signs for every AWS account with the same keys, so the Source names its topics. Raw messages aren't signed. Tidemill confirms the subscription by itself, and checks both versions of
the signature. The event is the whole message: what you published is its \`Message\`, a string. [What to know](../reference/senders.md#amazon-sns) of its certificates and retries.`,
	},
	meta: {
		testEvent: "Test, beside a field of Webhooks",
		columns: ["object=/object:String"],
		query: "select object, count(*) from meta group by 1",
		about:
			"Any verify token will do, since the URL is secret. Meta has no id for a delivery: the preset `Signature` stores a repeated body once.",
	},
	twilio: {
		testEvent: "send the number a message",
		columns: ["sender=/From:String"],
		query: "select sender, count(*) from twilio group by 1",
		// A message has no type. Conversations have one, at /EventType.
		draft: "--constant message",
		about:
			"Twilio signs the URL, so it must call the very URL that `status.webhookURL` shows; parameters may follow. A signed form has at most 64 KiB.",
	},
	svix: {
		testEvent: "Testing, Send Example",
		columns: ["type=/type:String"],
		query: "select type, count(*) from svix group by 1",
	},
};

/** A page for each provider: the road from its settings to a query, on one screen. */
export function senderPages(): [path: string, text: string][] {
	return Object.entries(roads).map(([name, road]) => [
		`docs/senders/${name}.md`,
		page(name, providers[name]!, road),
	]);
}

function page(
	name: string,
	provider: Provider,
	{ testEvent, columns, query, draft, about }: Road,
): string {
	const { title, secret, paste, eventType } = provider;
	const hasTopics = JSON.stringify(provider.webhook).includes("topicARNs");
	const webhook = webhookOf(provider, "provider", [topic]);
	const topics = hasTopics ? ` --topic-arn ${topic}` : "";
	const body = columns.map((column) => ` --body-column ${column}`).join("");
	const [place, at] = Object.entries(eventType!)[0]!;
	const option = `--${place === "header" ? "header" : "body-pointer"} ${at}`;
	const steps = [
		`URL: \`tidemill sources create ${name} --provider ${name}${topics} --wait\` prints it. It goes to ${paste}.`,
		secret
			? `Secret: ${secret}. \`tidemill sources set-secret ${name} --secret-file secret.txt\` takes it from a file.`
			: "Secret: none; the provider signs with keys of its own.",
		`Test event: ${testEvent}. \`tidemill events list ${name}\` shows it; \`tidemill sources refusals ${name}\` says why one was refused.`,
		`Table: \`tidemill destinations create warehouse --duckdb warehouse.duckdb --wait\` unless you have a Destination; then \`tidemill pipelines create ${name} --source ${name} --destination warehouse --every 15m${body}\`, and \`tidemill pipelines run ${name} --wait\` for the first Run.`,
		`Plan: \`tidemill tracking-plans draft ${name} ${draft ?? option} > plan.yaml\` infers one of what came; [apply it](../tracking-plans.md) when you know what should hold.`,
		`Query: \`tidemill sql -d warehouse "${query}"\``,
	];
	const replay = secret
		? `\nA handler of yours on this machine gets the events, [signed anew](../reference/refusals.md#signed-anew): \`tidemill events replay ${name} --to http://localhost:3000 --secret-file secret.txt\`\n`
		: "";
	const source = {
		apiVersion: "tidemill.dev/v1alpha1",
		kind: "Source",
		metadata: { name },
		spec: { type: "Webhook", webhook },
	};
	return `# ${title}

<!-- From packages/contracts/providers.ts and tools/generate/sender-pages.ts: edit these, then "npm run generate". -->

From ${title} to a query, in [the six steps](../senders.md#the-six-steps).

${about ? `${about}\n\n` : ""}${steps.map((step, index) => `${index + 1}. ${step}\n`).join("")}${replay}
The Source in YAML${secret ? ", whose Secret is yours to make" : ""}:

\`\`\`yaml
${stringify(source, { lineWidth: 0 })}\`\`\`
`;
}
