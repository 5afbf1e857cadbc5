import { RequestError } from "../errors.ts";
import type { Identity } from "./identity-cache.ts";

/**
 * The account (namespace) that a request is about: that of a ServiceAccount's token; other callers name it in the header
 * `Tidemill-Account`. What they may do there is for the apiserver to say. Throws {@link RequestError}.
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
				`The token is of a service account in ${own} and reaches that account alone. Leave Tidemill-Account out.`,
			);
		return own;
	}
	if (header === undefined)
		throw new RequestError(
			"AccountRequired",
			"The token is not of a service account. Name the account in the header Tidemill-Account.",
			{ details: [{ path: "Tidemill-Account", message: "is required" }] },
		);
	// It becomes a part of a path: nothing but a namespace's name (RFC 1123 label) may pass.
	if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(header))
		throw new RequestError(
			"InvalidRequest",
			"Tidemill-Account is not the name of a namespace.",
			{
				details: [
					{
						path: "Tidemill-Account",
						message: "must be the name of a namespace",
					},
				],
			},
		);
	return header;
}

function namespaceOf({ username, groups }: Identity): string | undefined {
	if (!groups.includes("system:serviceaccounts")) return undefined;
	return /^system:serviceaccount:([^:]+):[^:]+$/.exec(username)?.[1];
}
