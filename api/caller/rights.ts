import type { KubeClient } from "../../packages/kube/client/client.ts";
import {
	ownRules,
	type PolicyRule,
} from "../../packages/kube/client/self-review.ts";
import { hasRight } from "./account.ts";

/** A verb on a resource of tidemill.dev, which may have a subresource: `sources/bodies`. */
export interface ResourceRight {
	verb: string;
	resource: string;
	/** Of the resource; `tidemill.dev` by default. */
	group?: string;
}

/**
 * Which of these rights the client's token has on all objects of the namespace. Usually that is one question to the apiserver
 * (authorization.k8s.io/v1 SelfSubjectRulesReview). Where its answer is incomplete, as with a webhook that decides, it is asked
 * about each right.
 */
export async function heldRights<R extends ResourceRight>(
	client: Pick<KubeClient, "raw">,
	namespace: string,
	asked: readonly R[],
): Promise<R[]> {
	const { rules, incomplete } = await ownRules(client, namespace);
	if (!incomplete) return asked.filter((right) => isGranted(right, rules));
	const answers = await Promise.all(
		asked.map(({ verb, resource: whole, group }) => {
			const [resource, subresource] = whole.split("/");
			return hasRight(client, namespace, {
				verb,
				resource: resource!,
				...(subresource && { subresource }),
				...(group !== undefined && { group }),
			});
		}),
	);
	return asked.filter((_, at) => answers[at]);
}

function isGranted(
	{ verb, resource, group = "tidemill.dev" }: ResourceRight,
	rules: readonly PolicyRule[],
): boolean {
	const [, subresource] = resource.split("/");
	const names = ["*", resource, ...(subresource ? [`*/${subresource}`] : [])];
	const has = (values: string[] | undefined, wanted: string[]) =>
		wanted.some((value) => values?.includes(value));
	return rules.some(
		({ verbs, apiGroups, resources, resourceNames = [] }) =>
			resourceNames.length === 0 &&
			has(verbs, ["*", verb]) &&
			has(apiGroups, ["*", group]) &&
			has(resources, names),
	);
}
