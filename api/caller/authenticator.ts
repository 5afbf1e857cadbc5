import { hash } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { remember } from "../../packages/fair/recent.ts";
import {
	hasReason,
	type KubeClient,
} from "../../packages/kube/client/client.ts";
import { ownUser } from "../../packages/kube/client/self-review.ts";
import { networkOf } from "../../packages/service/settings.ts";
import type { RateClass } from "../http/endpoint.ts";
import { requestErrorOf } from "../http/error-translation.ts";
import { unauthorized, unavailable } from "../http/errors.ts";
import { type CallerIdentity, rateSubjectOf } from "./account.ts";
import type { RateLimit, RateStatus } from "./rate-limit.ts";
import { ReviewQueue } from "./review-queue.ts";

/** The outcome of authenticating a request, and its sender's standing in the rate limit. */
export interface Authentication {
	/** Throws the reason if the request has no valid token. */
	requireIdentity(): { identity: CallerIdentity; token: string };
	/** Of the account or user if the token is valid, and otherwise of the network. */
	rate: RateStatus;
	isAuthenticated: boolean;
}

/**
 * Authenticates requests and counts them in the rate limit: by account or user if the token is valid, and
 * otherwise by the network that sent it. Nobody is refused for what others in their network sent before
 * their own token is known to be invalid.
 */
export class Authenticator {
	readonly #clientFor: (token: string) => KubeClient;
	readonly #rateLimit: RateLimit;
	readonly #readiness = new ApiserverReadiness();
	readonly #identities: IdentityCache;
	readonly #queue = new ReviewQueue();

	constructor(clientFor: (token: string) => KubeClient, rateLimit: RateLimit) {
		this.#clientFor = clientFor;
		this.#rateLimit = rateLimit;
		this.#identities = new IdentityCache(async (token) => {
			const client = clientFor(token);
			const identity = await reviewSelf(client);
			await this.#readiness.learn(client);
			return identity;
		});
	}

	/**
	 * @param gone makes a signal that fires when the client has disconnected.
	 * @param rateClass as what the request counts in the rate limit; undefined if it counts among all others.
	 */
	async authenticate(
		request: FastifyRequest,
		gone: () => AbortSignal,
		rateClass: RateClass | undefined,
	): Promise<Authentication> {
		const network = networkOf(request.ip);
		try {
			const token = bearerToken(request.headers.authorization);
			const identity = await this.#identities.identityOf(token, (review) =>
				this.#queue.run(network, gone(), review),
			);
			const subject = rateSubjectOf(identity);
			const rate = await this.#rateLimit.count(
				rateClass ? `${rateClass.name} ${subject}` : subject,
				rateClass?.times,
			);
			return {
				requireIdentity: () => ({ identity, token }),
				rate,
				isAuthenticated: true,
			};
		} catch (error) {
			const requireIdentity = () => {
				throw error;
			};
			const subject = `address ${network}`;
			const isRefused = requestErrorOf(error).status === 401;
			const rate = isRefused
				? await this.#rateLimit.count(subject)
				: this.#rateLimit.standing(subject);
			return { requireIdentity, rate, isAuthenticated: false };
		}
	}

	/** Returns the error of a request, or a 503 in place of the 403 of an apiserver that is starting. */
	async causeOf(error: unknown, request: FastifyRequest): Promise<unknown> {
		if (!hasReason(error, "Forbidden")) return error;
		const token = bearerToken(request.headers.authorization);
		return this.#readiness.causeOf(error, this.#clientFor(token));
	}
}

/** RFC 6750 §2.1. Throws a 401 if the header has no token. */
export function bearerToken(header: string | undefined): string {
	if (header === undefined) throw unauthorized("missing");
	const token = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(header)?.[1];
	if (token === undefined) throw unauthorized("invalid");
	return token;
}

/** When a token that was never valid may be reviewed. */
type Turn = (review: () => Promise<CallerIdentity>) => Promise<CallerIdentity>;

interface Entry {
	identity: CallerIdentity;
	until: number;
	/** The review that follows `until`. All requests with the token wait for the same one. */
	renewal?: Promise<CallerIdentity>;
}

/**
 * Caches the identities of tokens, by the SHA-256 of the token: the cache holds no tokens. A token revoked meanwhile is
 * harmless, because the apiserver checks it again with the request itself.
 */
export class IdentityCache {
	readonly #review: (token: string) => Promise<CallerIdentity>;
	readonly #now: () => number;
	/** Ordered by expiry, since all entries live equally long. */
	readonly #entries = new Map<string, Entry>();
	readonly #ttlMs: number;
	readonly #maxEntries: number;

	constructor(
		review: (token: string) => Promise<CallerIdentity>,
		{ now = Date.now, ttlMs = 60_000, maxEntries = 10_000 } = {},
	) {
		this.#review = review;
		this.#now = now;
		this.#ttlMs = ttlMs;
		this.#maxEntries = maxEntries;
	}

	/**
	 * The identity of a token, which the cache has or reviews. A token that has been valid is reviewed at once, any other in
	 * its turn. Throws what `review` and `turn` throw, and caches no refusal.
	 */
	async identityOf(token: string, turn: Turn): Promise<CallerIdentity> {
		const digest = digestOf(token);
		const entry = this.#entries.get(digest);
		if (entry) return this.#current(entry, digest, token);
		return turn(() => {
			// A request before it may have had the same token.
			const entry = this.#entries.get(digest);
			return entry
				? this.#current(entry, digest, token)
				: this.#reviewed(digest, token);
		});
	}

	async #current(
		entry: Entry,
		digest: string,
		token: string,
	): Promise<CallerIdentity> {
		if (this.#now() < entry.until) return entry.identity;
		entry.renewal ??= this.#renewed(entry, digest, token);
		return entry.renewal;
	}

	async #renewed(
		entry: Entry,
		digest: string,
		token: string,
	): Promise<CallerIdentity> {
		try {
			return await this.#reviewed(digest, token);
		} catch (error) {
			delete entry.renewal;
			if (requestErrorOf(error).status === 401) this.#entries.delete(digest);
			throw error;
		}
	}

	async #reviewed(digest: string, token: string): Promise<CallerIdentity> {
		const identity = await this.#review(token);
		const entry = { identity, until: this.#now() + this.#ttlMs };
		remember(this.#entries, digest, entry, this.#maxEntries);
		return identity;
	}
}

/**
 * Distinguishes a real 403 from that of an apiserver that is starting: until it has read its roles, it forbids everything
 * and isn't ready. Any authenticated user may ask `/readyz`, by the default role `system:public-info-viewer`.
 */
class ApiserverReadiness {
	/** It has once reported that it is ready. Without that default role it never does; then every 403 counts as real. */
	#hasReported = false;

	/** Call this after an authentication, while the apiserver works. */
	async learn(client: KubeClient): Promise<void> {
		if (!this.#hasReported) await this.#isReady(client);
	}

	/** Returns the 403 itself, or a 503 if the apiserver isn't ready. */
	async causeOf(refusal: unknown, client: KubeClient): Promise<unknown> {
		const isReady = await this.#isReady(client);
		return isReady || !this.#hasReported ? refusal : unavailable();
	}

	async #isReady(client: KubeClient): Promise<boolean> {
		try {
			await client.rawText("GET", "/readyz");
			this.#hasReported = true;
			return true;
		} catch {
			return false;
		}
	}
}

async function reviewSelf(client: KubeClient): Promise<CallerIdentity> {
	const { username, groups = [] } = await ownUser(client);
	return { username, groups };
}

function digestOf(token: string): string {
	return hash("sha256", token, "base64");
}
