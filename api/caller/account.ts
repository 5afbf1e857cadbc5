import { invalidParameter, RequestError } from "../http/errors.ts";
import type { Identity } from "./identity.ts";

/**
 * The account (namespace) of a request: a service account's own namespace; other callers name it in the header
 * `Tidemill-Account`. RBAC decides what they may do there. Throws {@link RequestError}.
 */
export function accountOf(
	identity: Identity,
	header: string | undefined,
): string {
	const own = namespaceOf(identity);
	if (own !== undefined) {
		if (header !== undefined && header !== own)
			throw new RequestError(
				"Forbidden",
				`The token belongs to a service account in ${own} and gives access to that account only. Omit Tidemill-Account.`,
			);
		return own;
	}
	if (header === undefined)
		throw new RequestError(
			"AccountRequired",
			"The token does not belong to a service account. Name the account in the header Tidemill-Account.",
			{ details: [{ path: "Tidemill-Account", message: "is required" }] },
		);
	if (!isDnsLabel(header))
		throw invalidParameter(
			"Tidemill-Account",
			"must be the name of a namespace",
			header,
		);
	return header;
}

/**
 * Who is counted in the rate limit: a service account's namespace, whose people make as many service accounts and tokens as
 * they like, and otherwise the user.
 */
export function rateSubjectOf(identity: Identity): string {
	const own = namespaceOf(identity);
	return own === undefined ? `user ${identity.username}` : `account ${own}`;
}

/** Whether a text is an RFC 1123 label. Anything else must not become part of a path to the apiserver. */
export function isDnsLabel(text: string): boolean {
	return /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text);
}

function namespaceOf({ username, groups }: Identity): string | undefined {
	if (!groups.includes("system:serviceaccounts")) return undefined;
	return /^system:serviceaccount:([^:]+):[^:]+$/.exec(username)?.[1];
}
