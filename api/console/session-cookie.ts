import "@fastify/cookie";
import type { CookieSerializeOptions } from "@fastify/cookie";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { SecretSealer } from "../../packages/service/seal-key.ts";

/** A browser keeps 4,096 bytes of a cookie with its name and attributes (RFC 6265 §6.1). */
const partLength = 3_500;
/** More doesn't pass the server's limit for a request's headers. */
const maxParts = 4;
const purpose = "console session";

/** A visitor who has signed in. */
export interface ConsoleSession {
	token: string;
	/** Unix time at which the token ends; undefined if it says no end. */
	expiresAtMs: number | undefined;
}

/**
 * The session of a browser: its token, sealed by the API's key, in a cookie that scripts can't read and other sites can't send. No
 * server keeps anything, so every replica with the key knows the visitor. Where the API is reached over TLS, the name begins
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
		const [id, sealed] = parts.join("").split(".");
		if (!id || !sealed) return undefined;
		try {
			const text = this.#keys.open(sealed, purpose, id).toString();
			const session: ConsoleSession = JSON.parse(text);
			const { expiresAtMs = Number.POSITIVE_INFINITY } = session;
			return now < expiresAtMs ? session : undefined;
		} catch {
			// Of another key, or of another Tidemill on this host.
			return undefined;
		}
	}

	/** Throws a RangeError for a token that doesn't fit into a browser's cookies. */
	write(reply: FastifyReply, session: ConsoleSession): void {
		const key = this.#keys.current;
		const sealed = key.seal(Buffer.from(JSON.stringify(session)), purpose);
		const text = `${key.id}.${base64url(sealed)}`;
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
					...attributes(reply.request),
					...(expiresAtMs !== undefined && { expires: new Date(expiresAtMs) }),
				},
			);
		}
	}

	/** Removes the session from the browser, or what a longer one has left from a part on. */
	end(reply: FastifyReply, from = 0): void {
		for (let part = from; part < maxParts; part++)
			reply.clearCookie(
				partName(reply.request, part),
				attributes(reply.request),
			);
	}
}

function nameOf({ protocol }: FastifyRequest): string {
	return hostCookie("tidemill-console", protocol);
}

/** The name that no other host can set, where there is TLS. */
export function hostCookie(name: string, protocol: string): string {
	return protocol === "https" ? `__Host-${name}` : name;
}

function partName(request: FastifyRequest, part: number): string {
	return part === 0 ? nameOf(request) : `${nameOf(request)}-${part}`;
}

function attributes({ protocol }: FastifyRequest): CookieSerializeOptions {
	return {
		path: "/",
		httpOnly: true,
		sameSite: "strict",
		secure: protocol === "https",
	};
}

/** The end that a JSON Web Token says (RFC 7519 §4.1.4), in Unix time; undefined for any other token. The apiserver verifies it. */
export function endOfToken(token: string): number | undefined {
	try {
		const claims = Buffer.from(token.split(".")[1] ?? "", "base64url");
		const { exp } = JSON.parse(claims.toString()) as { exp?: unknown };
		return typeof exp === "number" ? exp * 1000 : undefined;
	} catch {
		return undefined;
	}
}

function base64url(base64: string): string {
	return Buffer.from(base64, "base64").toString("base64url");
}
