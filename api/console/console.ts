import { randomBytes } from "node:crypto";
// Parses and writes cookies: fastify's own plugin.
import fastifyCookie from "@fastify/cookie";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { KubeClient } from "../../packages/kube/client/client.ts";
import type { SecretSealer } from "../../packages/service/seal-key.ts";
import { spendCode } from "../../packages/service/sign-in-codes.ts";
import { accountOf, namespaceOf } from "../caller/account.ts";
import type { Authentication } from "../caller/authenticator.ts";
import { isObject } from "../http/endpoint.ts";
import { invalidParameter, problemType, RequestError } from "../http/errors.ts";
import { isDnsLabel } from "../http/query.ts";
import {
	type EndedSessions,
	LiveSessions,
	longestSessionMs,
} from "./ended-sessions.ts";
import { serveFiles } from "./files.ts";
import type { OidcOptions } from "./oidc.ts";
import { serveOidc } from "./oidc-routes.ts";
import { consoleHeader, requireOwnPage } from "./own-page.ts";
import {
	type ConsoleSession,
	endOfToken,
	SessionCookie,
} from "./session-cookie.ts";
import { namespacesOf, rightsIn } from "./visitor.ts";

const sessionPath = "/console/session";

export interface ConsoleOptions {
	/** The built console. */
	directory: string;
	/** By which sessions are sealed. All replicas have the same. */
	keys: SecretSealer;
	/** Names of the hosts that the console is opened by. */
	hosts: ReadonlySet<string>;
	/** Of the codes that sign a browser in; undefined without a local Tidemill. */
	codes?: string | undefined;
	/** The sessions that visitors have ended. */
	ended: EndedSessions;
	/** How often a request that goes on asks whether its session does. Default 25 s. */
	reviewEveryMs?: number;
	/** The provider that people sign in at; undefined for none. */
	oidc?: OidcOptions | undefined;
	/** Of Tidemill. */
	version: string;
}

/** What the console needs of the API around it. */
interface ApiParts {
	clientFor(token: string): KubeClient;
	isProxy: (address: string) => boolean;
	/** Who a request's Authorization says it is; counted in the rate limit. */
	authenticate(
		request: FastifyRequest,
		reply: FastifyReply,
	): Promise<Authentication>;
	/** What {@link authenticate} found when the request came. */
	identityOf(
		request: FastifyRequest,
	): ReturnType<Authentication["requireIdentity"]>;
}

/** The console's files, and the sessions of browsers. All else that a visitor does goes through `/v1`, with their own token. */
export class Console {
	readonly #options: ConsoleOptions;
	readonly #cookie: SessionCookie;
	readonly #live: LiveSessions;
	readonly #sessions = new WeakMap<FastifyRequest, ConsoleSession>();

	constructor(options: ConsoleOptions) {
		this.#options = options;
		this.#cookie = new SessionCookie(options.keys);
		this.#live = new LiveSessions(options.ended);
	}

	/**
	 * Gives a request of the console's page the token of its session. Requests of programs, which have no console's header, never
	 * get one. Returns whether it did. Throws a 403 if another page sent it, and a 503 if nobody knows whether the session has ended.
	 */
	async admit(request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
		const { headers, method, routeOptions } = request;
		if (headers.authorization !== undefined || !(consoleHeader in headers))
			return false;
		requireOwnPage(request, this.#options.hosts);
		// Signing out needs no right, and works without NATS as far as it can.
		if (method === "DELETE" && routeOptions.url === sessionPath) return false;
		const session = this.#cookie.read(request);
		if (!session || !(await this.#live.has(session.id))) return false;
		headers.authorization = `Bearer ${session.token}`;
		this.#sessions.set(request, session);
		this.#endWith(session, reply);
		return true;
	}

	/** Cuts a request that goes on, such as a stream, once its session has ended. */
	#endWith({ id }: ConsoleSession, { raw }: FastifyReply): void {
		const { reviewEveryMs = 25_000 } = this.#options;
		const timer = setInterval(async () => {
			// What is open stays open while NATS is away: it has shown nothing of the time since.
			const goesOn = await this.#live.has(id).catch(() => true);
			if (!goesOn) raw.destroy();
		}, reviewEveryMs);
		raw.once("close", () => clearInterval(timer));
	}

	serve(api: FastifyInstance, parts: ApiParts): void {
		const { directory, hosts } = this.#options;
		void api.register(fastifyCookie);
		serveFiles(api, { directory, isProxy: parts.isProxy });
		const url = sessionPath;
		api.get(url, async (request, reply) => {
			try {
				return await this.#describe(request, parts);
			} catch (error) {
				if (!(error instanceof RequestError) || error.code !== "Unauthorized")
					throw error;
				const { codes, oidc } = this.#options;
				const signIn = {
					token: true,
					oidc: oidc !== undefined,
					code: codes !== undefined,
				};
				return reply
					.code(401)
					.type(problemType)
					.send(JSON.stringify({ ...error.problem(request.id), signIn }));
			}
		});
		api.post(url, async (request, reply) => {
			requireOwnPage(request, hosts);
			const token = await this.#credentialOf(request.body);
			const authentication = await this.#authenticate(
				request,
				reply,
				token,
				parts,
			);
			const description = await this.#describe(request, {
				...parts,
				identityOf: () => authentication.requireIdentity(),
			});
			this.#open(reply, token);
			return description;
		});
		if (this.#options.oidc)
			serveOidc(api, {
				options: this.#options.oidc,
				keys: this.#options.keys,
				hosts,
				isProxy: parts.isProxy,
				open: async (request, reply, token) => {
					await this.#authenticate(request, reply, token, parts);
					this.#open(reply, token);
				},
			});
		api.delete(url, async (request, reply) => {
			requireOwnPage(request, hosts);
			const session = this.#cookie.read(request);
			this.#cookie.end(reply);
			if (session)
				await this.#live.end(session.id).catch(() => {
					throw new RequestError(
						"Unavailable",
						`This browser is signed out. But NATS does not answer, so a copy of the session's cookie works until ${new Date(session.expiresAtMs).toISOString()}, unless you revoke the session's token.`,
					);
				});
			return reply.code(204).send();
		});
	}

	/** Throws a 401 unless the apiserver accepts the token. */
	async #authenticate(
		request: FastifyRequest,
		reply: FastifyReply,
		token: string,
		{ authenticate }: ApiParts,
	): Promise<Authentication> {
		request.headers.authorization = `Bearer ${token}`;
		const authentication = await authenticate(request, reply);
		authentication.requireIdentity();
		return authentication;
	}

	/** Gives the browser a session, which ends with its token, and after a working day. */
	#open(reply: FastifyReply, token: string): void {
		const expiresAtMs = sessionEndOf(token);
		const id = randomBytes(16).toString("hex");
		try {
			this.#cookie.write(reply, { id, token, expiresAtMs });
		} catch (error) {
			if (!(error instanceof RangeError)) throw error;
			throw new RequestError(
				"TooLarge",
				"The token is longer than a browser's cookies can hold. Use one of a service account: tidemill tokens create.",
			);
		}
	}

	async #credentialOf(body: unknown): Promise<string> {
		const { token, code } = isObject(body) ? body : {};
		if (typeof token === "string" && code === undefined) return token.trim();
		if (typeof code !== "string" || token !== undefined)
			throw new RequestError(
				"InvalidRequest",
				"The body must have a token or a code: an object with one of them, which is a text.",
			);
		const { codes } = this.#options;
		const found = codes && (await spendCode(codes, code));
		if (found) return found;
		throw new RequestError(
			"Unauthorized",
			"This link has been used, or is older than ten minutes. Print a new one: tidemill console",
		);
	}

	/** Who the visitor is, and what they may do in the namespace that they ask for. Throws a 401 without a session. */
	async #describe(
		request: FastifyRequest,
		{ clientFor, identityOf }: Pick<ApiParts, "clientFor" | "identityOf">,
	): Promise<object> {
		const { identity, token } = identityOf(request);
		const { namespace: wanted = "default" } = request.query as {
			namespace?: string;
		};
		if (typeof wanted !== "string" || !isDnsLabel(wanted))
			throw invalidParameter(
				"namespace",
				"must be the name of a namespace",
				String(wanted),
			);
		const own = namespaceOf(identity);
		const namespace = accountOf(identity, own ?? wanted);
		const client = clientFor(token);
		const [rights, namespaces] = await Promise.all([
			rightsIn(client, namespace),
			own === undefined ? namespacesOf(client, namespace) : [own],
		]);
		const expiresAtMs =
			this.#sessions.get(request)?.expiresAtMs ?? sessionEndOf(token);
		return {
			user: identity.username,
			namespace,
			namespaces,
			expiresAt: new Date(expiresAtMs).toISOString(),
			version: this.#options.version,
			rights,
		};
	}
}

function sessionEndOf(token: string): number {
	return Math.min(
		endOfToken(token) ?? Number.POSITIVE_INFINITY,
		Date.now() + longestSessionMs,
	);
}
