import type { KubeClient } from "./client.ts";

/*
 * What the apiserver says of the client itself, which anybody may ask: authentication.k8s.io/v1 SelfSubjectReview and authorization.k8s.io/v1
 * SelfSubjectAccessReview and SelfSubjectRulesReview.
 */

type Asker = Pick<KubeClient, "raw">;

/** Of a SelfSubjectRulesReview and of a ClusterRole. */
export interface PolicyRule {
	verbs: string[];
	apiGroups?: string[];
	resources?: string[];
	/** The rule is for these objects alone. */
	resourceNames?: string[];
}

/** The user that the apiserver takes the client for. */
export async function ownUser(
	client: Asker,
): Promise<{ username: string; groups?: string[] }> {
	const { userInfo } = await review<{
		userInfo: { username: string; groups?: string[] };
	}>(client, "authentication.k8s.io/v1", "SelfSubjectReview");
	return userInfo;
}

/** The client's rules in a namespace. `incomplete`: there may be others, as where a webhook decides. */
export async function ownRules(
	client: Asker,
	namespace: string,
): Promise<{ rules: PolicyRule[]; incomplete: boolean }> {
	const { resourceRules = [], incomplete = false } = await review<{
		resourceRules?: PolicyRule[];
		incomplete?: boolean;
	}>(client, authorization, "SelfSubjectRulesReview", { namespace });
	return { rules: resourceRules, incomplete };
}

/** Whether the client may do this. Without a namespace, in all of them. */
export async function isAllowed(
	client: Asker,
	resourceAttributes: {
		verb: string;
		group: string;
		resource: string;
		subresource?: string;
		namespace?: string;
	},
): Promise<boolean> {
	const { allowed } = await review<{ allowed: boolean }>(
		client,
		authorization,
		"SelfSubjectAccessReview",
		{ resourceAttributes },
	);
	return allowed;
}

const authorization = "authorization.k8s.io/v1";

async function review<Status>(
	client: Asker,
	apiVersion: string,
	kind: string,
	spec?: object,
): Promise<Status> {
	const path = `/apis/${apiVersion}/${kind.toLowerCase()}s`;
	const body = { apiVersion, kind, ...(spec && { spec }) };
	const answer = await client.raw("POST", path, { body });
	return (answer as { status: Status }).status;
}
