import type { KubeClient } from "../../packages/kube/client/client.ts";
import { isAllowed } from "../../packages/kube/client/self-review.ts";
import type { ApiRequest } from "../http/endpoint.ts";
import { invalidParameter, RequestError } from "../http/errors.ts";
import { isDnsLabel } from "../http/query.ts";

/**
 * The account (namespace) of a request: a service account's own namespace; other callers name it in the header
 * `Tidemill-Account`. RBAC decides what they may do there. Throws {@link RequestError}.
 */
export function accountOf(
	identity: CallerIdentity,
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
			"must be the name of an account, which is a namespace",
			header,
		);
	return header;
}

/**
 * Who is counted in the rate limit: a service account's namespace, whose people make as many service accounts and tokens as
 * they like, and otherwise the user.
 */
export function rateSubjectOf(identity: CallerIdentity): string {
	const own = namespaceOf(identity);
	return own === undefined ? `user ${identity.username}` : `account ${own}`;
}

/** The namespace of a service account; undefined for any other caller. */
export function namespaceOf({
	username,
	groups,
}: CallerIdentity): string | undefined {
	if (!groups.includes("system:serviceaccounts")) return undefined;
	return /^system:serviceaccount:([^:]+):[^:]+$/.exec(username)?.[1];
}

/** The user of a token, as the apiserver says (authentication.k8s.io/v1 UserInfo). */
export interface CallerIdentity {
	username: string;
	groups: string[];
}

/** A right in an account, as a role's rule names it. */
interface Right {
	verb: string;
	/** A plural of tidemill.dev. */
	resource: string;
	/** `events` and `bodies` of sources exist in rules alone: Kubernetes serves neither. */
	subresource?: string;
	/** Of the resource; `tidemill.dev` by default. */
	group?: string;
	/** Of the one resource that the right is about. */
	name?: string;
}

/** Throws a 403 that names the right unless the caller has it: the apiserver is asked with the caller's token. */
export async function requireRight(
	{ client, account }: Pick<ApiRequest, "client" | "account">,
	right: Right,
): Promise<void> {
	if (await hasRight(client, account, right)) return;
	const { verb, resource, subresource } = right;
	const object = subresource ? `${resource}/${subresource}` : resource;
	throw new RequestError(
		"Forbidden",
		`This needs the right to ${verb} ${object}.tidemill.dev in account "${account}".`,
	);
}

/** Whether the client's token has the right. */
export function hasRight(
	client: Pick<KubeClient, "raw">,
	namespace: string,
	right: Right,
): Promise<boolean> {
	return isAllowed(client, { namespace, group: "tidemill.dev", ...right });
}
