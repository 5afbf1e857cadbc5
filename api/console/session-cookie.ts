import "@fastify/cookie";
import type { FastifyReply, FastifyRequest } from "fastify";
import { claimsOf } from "../../packages/kube/client/token-claims.ts";
import type { SecretSealer } from "../../packages/service/seal-key.ts";
import {
	cookieAttributes,
	hostCookie,
	openedValue,
	sealedValue,
} from "./sealed-cookie.ts";

/** A browser keeps 4,096 bytes of a cookie with its name and attributes (RFC 6265 §6.1). */
const partLength = 3_500;
/** More doesn't pass the server's limit for a request's headers. */
const maxParts = 4;
const purpose = "console session";

/** A visitor who has signed in. */
export interface ConsoleSession {
	/** By which it can be ended before its time. */
	id: string;
	token: string;
	/** Unix time. */
	expiresAtMs: number;
}

/**
 * The session of a browser: its token, sealed by the API's key, in a cookie that scripts can't read and other sites can't send. No
 * server keeps it, so every replica with the key knows the visitor. Where the API is reached over TLS, the name begins
 * with `__Host-`: no other host can set it (RFC 6265bis §4.1.3.2).
 */
export class SessionCookie {
	readonly #keys: SecretSealer;

	constructor(keys: SecretSealer) {
		this.#keys = keys;
	}

	/** The session of a request; undefined without one, or if it has ended, or wasn't sealed by one of the keys. */
	read(request: FastifyRequest, now = Date.now()): ConsoleSession | undefined {
		const { cookie: header } = request.headers;
		if (header === undefined) return undefined;
		const cookies = request.server.parseCookie(header);
		const name = nameOf(request);
		const [, count, first] = /^(\d)\.(.+)$/.exec(cookies[name] ?? "") ?? [];
		const parts = Array.from({ length: Number(count ?? 0) }, (_, part) =>
			part === 0 ? first : cookies[`${name}-${part}`],
		);
		try {
			const text = parts.join("");
			const session = openedValue<ConsoleSession>(this.#keys, purpose, text);
			// One of an earlier version can't be ended.
			return session.id && now < session.expiresAtMs ? session : undefined;
		} catch {
			// Of another key, or of another Tidemill on this host.
			return undefined;
		}
	}

	/** Throws a RangeError for a token that doesn't fit into a browser's cookies. */
	write(reply: FastifyReply, session: ConsoleSession): void {
		const text = sealedValue(this.#keys, purpose, session);
		const parts = Math.ceil(text.length / partLength);
		if (parts > maxParts) throw new RangeError("the token is too long");
		this.end(reply, parts);
		const { expiresAtMs } = session;
		for (let part = 0; part < parts; part++) {
			const value = text.slice(part * partLength, (part + 1) * partLength);
			reply.setCookie(
				partName(reply.request, part),
				part === 0 ? `${parts}.${value}` : value,
				{
					...cookieAttributes(reply.request, "strict"),
					expires: new Date(expiresAtMs),
				},
			);
		}
	}

	/** Removes the session from the browser, or what a longer one has left from a part on. */
	end(reply: FastifyReply, from = 0): void {
		for (let part = from; part < maxParts; part++)
			reply.clearCookie(
				partName(reply.request, part),
				cookieAttributes(reply.request, "strict"),
			);
	}
}

function nameOf(request: FastifyRequest): string {
	return hostCookie("tidemill-console", request);
}

function partName(request: FastifyRequest, part: number): string {
	return part === 0 ? nameOf(request) : `${nameOf(request)}-${part}`;
}

/** The end that a JSON Web Token says (RFC 7519 §4.1.4), in Unix time; undefined for any other token. The apiserver verifies it. */
export function endOfToken(token: string): number | undefined {
	const { exp } = claimsOf(token);
	return typeof exp === "number" ? exp * 1000 : undefined;
}
