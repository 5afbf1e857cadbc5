import type { Msg, NatsConnection } from "@nats-io/transport-node";
import { sns } from "../../packages/contracts/nats.ts";
import {
	isCertificateURL,
	isConfirmationURL,
	type SnsAnswer,
	type SnsQuestion,
} from "../../packages/contracts/sns.ts";
import { RecentOwners, TokenBucket } from "../../packages/fair/token-bucket.ts";
import type { Logger } from "../../packages/service/log.ts";
import type { GetOutcome } from "./checked-request.ts";
import { FairDispatcher } from "./dispatcher.ts";

/** Of calls at once. */
const limits = { overall: 32, perAccount: 4 };
/** Questions in memory. Receive asks 4 of an account at once. */
const maxInHand = 1_000;
/** Questions of an account: whoever has a webhook URL can write messages with any URL of Amazon's. */
const rate = { burst: 20, perSecond: 0.1 };
/** Of accounts. One that is forgotten begins with a full burst. */
const maxRemembered = 10_000;
/** Certificates that Amazon has: more than there are. */
const maxKnown = 200;
/** Amazon's certificates have 2 KiB, its answers fewer. */
const maxBytes = 16 * 1024;

interface SnsResponderOptions {
	nats: NatsConnection;
	get(url: string, maxBytes: number): Promise<GetOutcome>;
	log: Logger;
}

/**
 * Answers receive's questions about Amazon SNS: fetches certificates and confirms subscriptions. A sender wrote the URL, so only
 * Amazon's hosts are called, and an account that asks too often waits alone.
 */
export class SnsResponder {
	readonly #options: SnsResponderOptions;
	readonly #rates = new RecentOwners(
		maxRemembered,
		() => new TokenBucket(rate),
	);
	/** URLs where Amazon had a certificate. */
	readonly #known = new Set<string>();
	readonly #dispatcher: FairDispatcher<Msg>;

	constructor(options: SnsResponderOptions) {
		this.#options = options;
		this.#dispatcher = new FairDispatcher(limits, (message) =>
			this.#answer(message),
		);
	}

	/** Answers until it is stopped. All processes share the questions. */
	start(): { stop(): Promise<void> } {
		const { nats } = this.#options;
		const subscriptions = [sns.certificate, sns.confirmation].map((subject) =>
			nats.subscribe(subject, {
				queue: "notify",
				callback: (error, message) => {
					if (!error) this.#take(message);
				},
			}),
		);
		return {
			stop: async () => {
				for (const subscription of subscriptions) subscription.unsubscribe();
				await this.#dispatcher.stop();
			},
		};
	}

	#take(message: Msg): void {
		const question = questionIn(message);
		if (
			question &&
			this.#dispatcher.inHand.size < maxInHand &&
			this.#rates.of(this.#payerOf(question)).take(performance.now())
		)
			this.#dispatcher.add(question.account, message);
		else respond(message, { ok: false });
	}

	/** What counts the question. Who makes up names uses up the account's rate, and not that of a certificate which exists. */
	#payerOf({ account, url }: SnsQuestion): string {
		return this.#known.has(url) ? `${account} ${url}` : account;
	}

	async #answer(message: Msg): Promise<void> {
		const { get, log } = this.#options;
		const { account, url } = questionIn(message)!;
		const outcome = await get(url, maxBytes);
		const about = { account, subject: message.subject };
		if ("error" in outcome) {
			log.warn({ ...about, reason: outcome.error }, "Amazon SNS refuses");
			respond(message, { ok: false });
			return;
		}
		log.info(about, "called Amazon SNS");
		const isCertificate = message.subject === sns.certificate;
		if (isCertificate && this.#known.size < maxKnown) this.#known.add(url);
		respond(message, { ok: true, text: isCertificate ? outcome.text : "" });
	}
}

/** Undefined if it is none, or names a URL that isn't Amazon's. */
function questionIn(message: Msg): SnsQuestion | undefined {
	try {
		const question = message.json<SnsQuestion>();
		const isAllowed =
			message.subject === sns.certificate
				? isCertificateURL
				: isConfirmationURL;
		return typeof question.account === "string" && isAllowed(question.url)
			? question
			: undefined;
	} catch {
		return undefined;
	}
}

/** Nobody waits any more, if the connection is being closed. */
function respond(message: Msg, answer: SnsAnswer): void {
	try {
		message.respond(JSON.stringify(answer));
	} catch {}
}
