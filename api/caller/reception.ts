import type { FastifyRequest } from "fastify";
import type { KubeClient } from "../../kube/client/client.ts";
import { unauthorized } from "../errors.ts";
import type { ApiserverReadiness } from "./apiserver-readiness.ts";
import { type Identity, IdentityCache } from "./identity-cache.ts";
import type { Rate, RateLimit } from "./rate-limit.ts";

/** Who sent a request, as far as that could be found out, and how many more requests they have. */
export interface Visitor {
	/** Throws what keeps the request from having a caller. */
	requireIdentity(): { identity: Identity; token: string };
	rate: Rate;
}

/**
 * Finds out who asks, and counts: by user where the token is somebody's, since anybody can make tokens; by address
 * otherwise.
 */
export class Reception {
	readonly #identities: IdentityCache;
	readonly #rateLimit: RateLimit;

	constructor(
		clientFor: (token: string) => KubeClient,
		readiness: ApiserverReadiness,
		rateLimit: RateLimit,
	) {
		this.#identities = new IdentityCache(async (token) => {
			const client = clientFor(token);
			const identity = await askWhoIs(client);
			await readiness.learn(client);
			return identity;
		});
		this.#rateLimit = rateLimit;
	}

	async receive(request: FastifyRequest): Promise<Visitor> {
		const address = `address ${request.ip}`;
		try {
			const token = bearerToken(request.headers.authorization);
			const identity =
				this.#identities.known(token) ?? (await this.#ask(token, address));
			const rate = await this.#rateLimit.take(`user ${identity.username}`);
			return { requireIdentity: () => ({ identity, token }), rate };
		} catch (error) {
			const rate = await this.#rateLimit.take(address);
			const requireIdentity = () => {
				throw error;
			};
			return { requireIdentity, rate };
		}
	}

	/** Who tries tokens is not to keep the apiserver busy. */
	async #ask(token: string, address: string): Promise<Identity> {
		if (this.#rateLimit.isUsedUp(address)) throw unauthorized("invalid");
		return this.#identities.identityOf(token);
	}
}

/** RFC 6750 §2.1. Throws the 401 of a header that has none. */
export function bearerToken(header: string | undefined): string {
	if (header === undefined) throw unauthorized("missing");
	const token = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(header)?.[1];
	if (token === undefined) throw unauthorized("invalid");
	return token;
}

async function askWhoIs(client: KubeClient): Promise<Identity> {
	const apiVersion = "authentication.k8s.io/v1";
	const answer = (await client.raw(
		"POST",
		`/apis/${apiVersion}/selfsubjectreviews`,
		{ body: { apiVersion, kind: "SelfSubjectReview" } },
	)) as { status: { userInfo: { username: string; groups?: string[] } } };
	const { username, groups = [] } = answer.status.userInfo;
	return { username, groups };
}
