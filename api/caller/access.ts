import type { KubeClient } from "../../packages/kube/client/client.ts";
import { RequestError } from "../http/errors.ts";
import type { Caller } from "../http/endpoint.ts";

/** A right in an account, as a role's rule names it. */
export interface Right {
	verb: string;
	/** A plural of tidemill.dev. */
	resource: string;
	/** `events` and `bodies` of sources exist in rules alone: Kubernetes serves neither. */
	subresource?: string;
	/** Of the one resource that the right is about. */
	name?: string;
}

/** Throws a 403 that names the right unless the caller has it: the apiserver is asked with the caller's token. */
export async function requireRight(
	{ client, account }: Pick<Caller, "client" | "account">,
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

/** Whether the client's token has the right (authorization.k8s.io/v1: anybody may ask about themselves). */
export async function hasRight(
	client: Pick<KubeClient, "raw">,
	namespace: string,
	right: Right,
): Promise<boolean> {
	const apiVersion = "authorization.k8s.io/v1";
	const { status } = (await client.raw(
		"POST",
		`/apis/${apiVersion}/selfsubjectaccessreviews`,
		{
			body: {
				apiVersion,
				kind: "SelfSubjectAccessReview",
				spec: {
					resourceAttributes: { namespace, group: "tidemill.dev", ...right },
				},
			},
		},
	)) as { status: { allowed: boolean } };
	return status.allowed;
}
