import { type KeyObject, X509Certificate } from "node:crypto";
import { sns } from "../../../packages/contracts/nats.ts";
import { remember } from "../../../packages/fair/recent.ts";
import type { NotifyQuestions } from "./notify-questions.ts";

/** A URL that gave no certificate is asked about again after this: SNS tries four times in a minute, and then gives up. */
const restMs = 5_000;
/** A certificate is fetched anew once a day. Until that succeeds it serves for as long as it is valid. */
const freshMs = 24 * 3_600_000;
/** More than SNS has. Only what Amazon publishes is kept. */
const maxKept = 200;
const maxMissing = 1_000;

interface Certificate {
	key: KeyObject;
	/** When it is fetched anew. */
	staleAtMs: number;
	validToMs: number;
}

/** What receive needs of Amazon SNS, by way of notify: certificates, which it remembers, and confirmations. */
export class AmazonSns {
	readonly #notify: NotifyQuestions;
	readonly #now: () => number;
	readonly #certificates = new Map<string, Certificate>();
	/** By account and URL: where no certificate was found, and until when nobody asks. */
	readonly #missing = new Map<string, number>();
	readonly #asking = new Map<string, Promise<KeyObject | undefined>>();

	constructor(notify: NotifyQuestions, now: () => number = Date.now) {
		this.#notify = notify;
		this.#now = now;
	}

	/**
	 * The key of the certificate there; undefined if it can't be had now.
	 * @param url allowed by packages/contracts/notify-question.ts.
	 */
	async keyOf(account: string, url: string): Promise<KeyObject | undefined> {
		const kept = this.#certificates.get(url);
		if (!kept || kept.validToMs <= this.#now())
			return this.#newKey(account, url);
		// The message doesn't wait for it.
		if (kept.staleAtMs <= this.#now()) void this.#newKey(account, url);
		return kept.key;
	}

	async #newKey(account: string, url: string): Promise<KeyObject | undefined> {
		// Of the account alone: notify may have enough of another's questions, and not of this one's.
		const name = `${account} ${url}`;
		if (this.#now() < (this.#missing.get(name) ?? 0)) return undefined;
		const asking = this.#asking.get(name);
		if (asking !== undefined) return asking;
		const fetched = this.#fetchKey(account, url, name);
		this.#asking.set(name, fetched);
		return fetched.finally(() => this.#asking.delete(name));
	}

	/** Confirms a subscription; false if that failed. @param url allowed by packages/contracts/notify-question.ts. */
	async confirm(account: string, url: string): Promise<boolean> {
		const answer = await this.#notify.ask(sns.confirmation, { account, url });
		return answer !== "busy" && answer?.ok === true;
	}

	async #fetchKey(
		account: string,
		url: string,
		name: string,
	): Promise<KeyObject | undefined> {
		const answer = await this.#notify.ask(sns.certificate, { account, url });
		if (answer === "busy") return undefined;
		const found = answer?.ok
			? certificateIn(answer.text, this.#now())
			: undefined;
		if (found) remember(this.#certificates, url, found, maxKept);
		else remember(this.#missing, name, this.#now() + restMs, maxMissing);
		return found?.key;
	}
}

/** Undefined unless it is a certificate with an RSA key, and valid now. */
function certificateIn(pem: string, nowMs: number): Certificate | undefined {
	try {
		const { publicKey, validFromDate, validToDate } = new X509Certificate(pem);
		const validToMs = +validToDate;
		const isValid = +validFromDate <= nowMs && nowMs < validToMs;
		if (!isValid || publicKey.asymmetricKeyType !== "rsa") return undefined;
		return { key: publicKey, staleAtMs: nowMs + freshMs, validToMs };
	} catch {
		return undefined;
	}
}
