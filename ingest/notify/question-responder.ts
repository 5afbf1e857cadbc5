import type { Msg, NatsConnection } from "@nats-io/transport-node";
import { publicKeysSubject, sns } from "../../packages/contracts/nats.ts";
import {
	isCertificateURL,
	isConfirmationURL,
	isKeyURL,
	type KeyAnswer,
	type KeyQuestion,
	type SnsQuestion,
	unknownKeyRestMs,
} from "../../packages/contracts/notify-question.ts";
import { RecentOwners, remember } from "../../packages/fair/recent.ts";
import { TokenBucket } from "../../packages/fair/token-bucket.ts";
import type { Logger } from "../../packages/service/log.ts";
import { subscribeLasting } from "../../packages/service/nats/lasting-subscription.ts";
import type { GetOutcome } from "./checked-request.ts";
import { FairDispatcher } from "./dispatcher.ts";

/** Of calls at once. */
const limits = { overall: 32, perAccount: 4 };
/** Questions in memory. Receive asks 4 of an account at once. */
const maxInHand = 1_000;
/** Questions of an account about SNS: whoever has a webhook URL can write messages with any URL of Amazon's. */
const snsRate = { burst: 20, perSecond: 0.1 };
/** Of an account about keys that its senders name. */
const unknownKeyRate = { burst: 1, perSecond: 1_000 / unknownKeyRestMs };
/** Of accounts. One that is forgotten begins with a full burst. */
const maxRemembered = 10_000;
/** URLs with a certificate or keys. */
const maxKnown = 10_000;
/** Amazon's certificates have 2 KiB, its answers fewer. A set of ten keys, each with its certificate (x5c), has nearly 20. */
const maxBytes = 32 * 1024;
const asksTooOften =
	"Senders of this namespace named a URL or key id that wasn't known less than 10 s ago.";
/** Answers about keys that are kept for a moment. */
const maxRecent = 1_000;

type Question = SnsQuestion | KeyQuestion;

const subjects: Record<string, { isAllowed(url: string): boolean }> = {
	[sns.certificate]: { isAllowed: isCertificateURL },
	[sns.confirmation]: { isAllowed: isConfirmationURL },
	[publicKeysSubject]: { isAllowed: isKeyURL },
};

interface QuestionResponderOptions {
	nats: NatsConnection;
	get(url: string, maxBytes: number): Promise<GetOutcome>;
	log: Logger;
}

/**
 * Answers receive's questions: fetches certificates of Amazon SNS and confirms its subscriptions, and fetches the public keys of Sources. A
 * sender may have written the URL, so of SNS only Amazon's hosts are called, and an account that asks too often waits alone.
 */
export class QuestionResponder {
	readonly #options: QuestionResponderOptions;
	readonly #snsRates = new RecentOwners(
		maxRemembered,
		() => new TokenBucket(snsRate),
	);
	readonly #keyRates = new RecentOwners(
		maxRemembered,
		() => new TokenBucket(unknownKeyRate),
	);
	/** URLs where Amazon had a certificate, and with its account, each where a key may be. */
	readonly #known = new Map<string, true>();
	/** Fetches of keys in the last {@link unknownKeyRestMs}, by account and URL: all receives have the same. */
	readonly #recent = new Map<string, RecentFetch>();
	readonly #dispatcher: FairDispatcher<Msg>;

	constructor(options: QuestionResponderOptions) {
		this.#options = options;
		this.#dispatcher = new FairDispatcher(limits, (message) =>
			this.#answer(message),
		);
	}

	/** Answers until it is stopped. All processes share the questions. */
	start(): { stop(): Promise<void> } {
		const { nats: connection, log } = this.#options;
		const stopping = new AbortController();
		for (const subject of Object.keys(subjects))
			subscribeLasting({
				...{ connection, subject, log },
				queue: "notify",
				onMessage: (message) => this.#take(message),
				signal: stopping.signal,
			});
		return {
			stop: async () => {
				stopping.abort();
				await this.#dispatcher.stop();
			},
		};
	}

	#take(message: Msg): void {
		const question = questionIn(message);
		if (!question) respond(message, { ok: false });
		else if (
			this.#dispatcher.inHand.size < maxInHand &&
			this.#mayAsk(message.subject, question)
		)
			this.#dispatcher.add(question.account, message);
		else respond(message, { ok: false, reason: asksTooOften });
	}

	/** Who makes up names uses up the account's rate, and not that of a certificate or key which exists. */
	#mayAsk(subject: string, question: Question): boolean {
		const { account, url } = question;
		const name = `${account} ${url}`;
		const nowMs = performance.now();
		if (subject !== publicKeysSubject)
			return this.#snsRates
				.of(this.#known.has(url) ? name : account)
				.take(nowMs);
		if (this.#recentFetch(name)) return true;
		const { unknown } = question as KeyQuestion;
		const isFree = !unknown || (unknown === "URL" && this.#known.has(name));
		return isFree || this.#keyRates.of(account).take(nowMs);
	}

	#recentFetch(name: string): RecentFetch | undefined {
		const recent = this.#recent.get(name);
		const isRecent =
			recent && performance.now() - recent.askedAtMs < unknownKeyRestMs;
		return isRecent ? recent : undefined;
	}

	/** What is at the URL of keys: what a question of the last moment was told, too. */
	#fetchKeys(name: string, url: string): Promise<GetOutcome> {
		const recent = this.#recentFetch(name);
		if (recent) return recent.outcome;
		const outcome = this.#options.get(url, maxBytes);
		const fetch = { askedAtMs: performance.now(), outcome };
		remember(this.#recent, name, fetch, maxRecent);
		return outcome;
	}

	async #answer(message: Msg): Promise<void> {
		const { get, log } = this.#options;
		const { account, url } = questionIn(message)!;
		const { subject } = message;
		const outcome =
			subject === publicKeysSubject
				? await this.#fetchKeys(`${account} ${url}`, url)
				: await get(url, maxBytes);
		const about = { account, subject };
		if ("error" in outcome) {
			log.warn(
				{ ...about, reason: outcome.error },
				"got no answer for receive",
			);
			respond(message, { ok: false, reason: outcome.error });
			return;
		}
		log.info(about, "got an answer for receive");
		const isConfirmation = subject === sns.confirmation;
		if (!isConfirmation) {
			const known = subject === sns.certificate ? url : `${account} ${url}`;
			remember(this.#known, known, true, maxKnown);
		}
		respond(message, { ok: true, text: isConfirmation ? "" : outcome.text });
	}
}

interface RecentFetch {
	askedAtMs: number;
	outcome: Promise<GetOutcome>;
}

/** Undefined if it is none, or names a URL that isn't allowed. */
function questionIn(message: Msg): Question | undefined {
	try {
		const question = message.json<Question>();
		const { isAllowed } = subjects[message.subject]!;
		return typeof question.account === "string" && isAllowed(question.url)
			? question
			: undefined;
	} catch {
		return undefined;
	}
}

/** Nobody waits any more, if the connection is being closed. */
function respond(message: Msg, answer: KeyAnswer): void {
	try {
		message.respond(JSON.stringify(answer));
	} catch {}
}
