import type { TokenCreate } from "../generated/types.ts";
import { tokens as words } from "../messages/tokens.ts";

/** What the form of a new token holds. */
export interface TokenDraft {
	name: string;
	scope: TokenCreate["scope"];
	/** Seconds, as the list of choices has them. */
	expiry: string;
}

/** As the API's own: a month, and no more rights than a program that looks needs. */
export const emptyTokenDraft: TokenDraft = {
	name: "",
	scope: "read",
	expiry: "2592000",
};

/** What is wrong with the name, before the API is asked; the API has the last word. */
export function tokenNameError(name: string): string | undefined {
	if (name === "") return words.nameMissing;
	const isLabel = /^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/.test(name);
	return isLabel ? undefined : words.nameInvalid;
}

export function tokenRequest({ name, scope, expiry }: TokenDraft): TokenCreate {
	return { name, scope, expiresInSeconds: Number(expiry) };
}

/** A command that shows that the token works. */
export function tokenUsage(apiUrl: string, token: string): string {
	return `curl -sS -H 'Authorization: Bearer ${token}' '${apiUrl}/pipelines'`;
}
