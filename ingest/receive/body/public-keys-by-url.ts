import type { KeyObject } from "node:crypto";
import { publicKeysSubject } from "../../../packages/contracts/nats.ts";
import { unknownKeyRestMs } from "../../../packages/contracts/notify-question.ts";
import type { PublicKeyAlgorithm } from "../../../packages/contracts/route.ts";
import { RecentOwners, remember } from "../../../packages/fair/recent.ts";
import {
	maxTriedKeys,
	type PublishedKey,
	publicKeysIn,
} from "../../../packages/service/public-keys.ts";
import type { NamedKey } from "../request/presented-signature.ts";
import type { NotifyQuestions } from "./notify-questions.ts";

/** Keys are fetched anew after this. */
const freshMs = 10 * 60_000;
/** Until that succeeds they serve for this long. */
const keptMs = 24 * 3_600_000;
/** URLs of an account. */
const maxKept = 20;
const maxMissing = 100;
/** Accounts. One that is forgotten begins anew. */
const maxAccounts = 10_000;

interface KeptKeys {
	keys: readonly PublishedKey[];
	fetchedAtMs: number;
}

/** What an account's Sources have of keys at URLs. No account sees what another has fetched. */
class AccountKeys {
	readonly kept = new Map<string, KeptKeys>();
	/** Where no keys were found, why, and until when nobody asks. */
	readonly missing = new Map<string, { untilMs: number; why: string }>();
	readonly asking = new Map<string, Promise<KeptKeys | string>>();
}

/** Public keys that their owner publishes at a URL, by way of notify. */
export class PublicKeysByURL {
	readonly #notify: NotifyQuestions;
	readonly #now: () => number;
	readonly #accounts = new RecentOwners(maxAccounts, () => new AccountKeys());

	/** @param now milliseconds of a monotonic clock. */
	constructor(
		notify: NotifyQuestions,
		now: () => number = () => performance.now(),
	) {
		this.#notify = notify;
		this.#now = now;
	}

	/** The keys that may check a signature: none if there is no such key. A text says why they can't be had now. */
	async keysAt(
		account: string,
		algorithm: PublicKeyAlgorithm,
		place: NamedKey,
	): Promise<KeyObject[] | string> {
		const of = this.#accounts.of(account);
		const name = `${algorithm} ${place.url}`;
		const kept = this.#keptIn(of, name);
		const found = kept && named(kept, place);
		const ageMs = kept ? this.#now() - kept.fetchedAtMs : 0;
		const fetch = (unknown?: "URL" | "KeyId") => {
			const asking =
				of.asking.get(name) ??
				this.#fetch(of, account, algorithm, place.url, unknown).finally(() =>
					of.asking.delete(name),
				);
			of.asking.set(name, asking);
			return asking;
		};
		if (found?.length) {
			// The request doesn't wait for it.
			if (ageMs >= freshMs) void fetch();
			return found;
		}
		// What was fetched a moment ago has no such key.
		if (kept && ageMs < unknownKeyRestMs) return [];
		const unknown = kept ? "KeyId" : place.isSenders ? "URL" : undefined;
		const fetched = await fetch(unknown);
		return typeof fetched === "string" ? fetched : named(fetched, place);
	}

	#keptIn({ kept }: AccountKeys, name: string): KeptKeys | undefined {
		const found = kept.get(name);
		return found && this.#now() - found.fetchedAtMs < keptMs
			? found
			: undefined;
	}

	async #fetch(
		{ kept, missing }: AccountKeys,
		account: string,
		algorithm: PublicKeyAlgorithm,
		url: string,
		unknown: "URL" | "KeyId" | undefined,
	): Promise<KeptKeys | string> {
		const name = `${algorithm} ${url}`;
		const { untilMs = 0, why = "" } = missing.get(name) ?? {};
		if (this.#now() < untilMs) return why;
		const answer = await this.#notify.ask(publicKeysSubject, {
			account,
			url,
			...(unknown && { unknown }),
		});
		if (answer === "busy")
			return "Notify has as many questions of this namespace as it may have.";
		const fetchedAtMs = this.#now();
		const keys = answer?.ok
			? publicKeysIn(answer.text, algorithm, Date.now())
			: (answer?.reason ?? "Notify doesn't answer.");
		if (typeof keys !== "string") {
			const fetched = { keys, fetchedAtMs };
			remember(kept, name, fetched, maxKept);
			return fetched;
		}
		const found = answer?.ok ? `What is at the key's URL ${keys}.` : keys;
		remember(
			missing,
			name,
			{ untilMs: fetchedAtMs + unknownKeyRestMs, why: found },
			maxMissing,
		);
		return found;
	}
}

function named({ keys }: KeptKeys, wanted: NamedKey): KeyObject[] {
	const nowMs = Date.now();
	return keys
		.filter(
			({ id, validToMs = Number.POSITIVE_INFINITY }) =>
				(wanted.id === undefined || id === wanted.id) && nowMs < validToMs,
		)
		.slice(0, maxTriedKeys)
		.map(({ key }) => key);
}
