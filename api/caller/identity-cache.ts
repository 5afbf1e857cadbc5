import { hash } from "node:crypto";

/** Who a token belongs to, as the apiserver says (authentication.k8s.io/v1 UserInfo). */
export interface Identity {
	username: string;
	groups: string[];
}

/**
 * Remembers who a token belongs to, by the token's SHA-256: the tokens themselves are not kept. It only saves
 * questions: a token that was revoked meanwhile is refused by the apiserver at the request itself.
 */
export class IdentityCache {
	readonly #ask: (token: string) => Promise<Identity>;
	readonly #now: () => number;
	/** Ordered by expiry, since all entries live equally long. */
	readonly #entries = new Map<string, { identity: Identity; until: number }>();
	readonly #ttlMs: number;
	readonly #maxEntries: number;

	constructor(
		ask: (token: string) => Promise<Identity>,
		{ now = Date.now, ttlMs = 60_000, maxEntries = 10_000 } = {},
	) {
		this.#ask = ask;
		this.#now = now;
		this.#ttlMs = ttlMs;
		this.#maxEntries = maxEntries;
	}

	/** Throws what `ask` throws, and remembers no refusal. */
	async identityOf(token: string): Promise<Identity> {
		const known = this.known(token);
		if (known) return known;
		const identity = await this.#ask(token);
		this.#remember(digestOf(token), identity);
		return identity;
	}

	/** Asks nobody: undefined when the token is not known, or not any more. */
	known(token: string): Identity | undefined {
		const entry = this.#entries.get(digestOf(token));
		return entry && this.#now() < entry.until ? entry.identity : undefined;
	}

	#remember(digest: string, identity: Identity): void {
		this.#entries.delete(digest);
		this.#entries.set(digest, { identity, until: this.#now() + this.#ttlMs });
		if (this.#entries.size > this.#maxEntries)
			this.#entries.delete(this.#entries.keys().next().value!);
	}
}

function digestOf(token: string): string {
	return hash("sha256", token, "base64");
}
