import type { CookieSerializeOptions } from "@fastify/cookie";
import type { FastifyRequest } from "fastify";
import type { SecretSealer } from "../../packages/service/seal-key.ts";

/* A cookie whose value only the API can read: the id of the key that sealed it, and what is sealed, in characters of cookies. */

export function sealedValue(
	keys: SecretSealer,
	purpose: string,
	value: object,
): string {
	const { current } = keys;
	const sealed = current.seal(Buffer.from(JSON.stringify(value)), purpose);
	return `${current.id}.${Buffer.from(sealed, "base64").toString("base64url")}`;
}

/** Throws if the text wasn't sealed by one of the keys for this purpose. */
export function openedValue<T>(
	keys: SecretSealer,
	purpose: string,
	text: string,
): T {
	const [id, sealed = ""] = text.split(".");
	return JSON.parse(keys.open(sealed, purpose, id).toString());
}

/** The name that no other host can set, where there is TLS. */
export function hostCookie(name: string, { protocol }: FastifyRequest): string {
	return protocol === "https" ? `__Host-${name}` : name;
}

export function cookieAttributes(
	{ protocol }: FastifyRequest,
	sameSite: "strict" | "lax",
): CookieSerializeOptions {
	return { path: "/", httpOnly: true, sameSite, secure: protocol === "https" };
}
