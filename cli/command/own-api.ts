import type { KubeClient } from "../../packages/kube/client/client.ts";
import { unless } from "../../packages/kube/client/errors.ts";
import {
	ownRules,
	type PolicyRule,
} from "../../packages/kube/client/self-review.ts";

/** What the chart's ClusterRole `…-api-address` has. `apis` is no resource of Kubernetes: the rule is a statement, and permits nothing. */
const statement = { group: "tidemill.dev", resource: "apis", verb: "use" };
/** A namespace of every cluster, in which only its administrators bind roles. */
const neutralNamespace = "kube-public";

/**
 * Whether the cluster says that its REST API is at that address (decision 46). Who it is at that address TLS proves, so without TLS
 * only an address of this machine counts, with its port.
 */
export async function isApiOf(client: KubeClient, url: URL): Promise<boolean> {
	const address = addressOf(url);
	if (address === undefined) return false;
	const asked = ownRules(client, neutralNamespace);
	// A cluster that doesn't answer the question states nothing.
	const answer = await unless(asked, "Forbidden", "NotFound");
	return answer?.rules.some((rule) => states(rule, address)) ?? false;
}

/** The name in the rule; undefined if nothing proves who answers there. */
export function addressOf(url: URL): string | undefined {
	if (url.protocol === "https:") return url.hostname;
	return /^(localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname)
		? url.host
		: undefined;
}

/** By its name: an administrator's rule for everything says nothing about an address. */
function states(rule: PolicyRule, address: string): boolean {
	const { verbs, apiGroups = [], resources = [], resourceNames = [] } = rule;
	return (
		verbs.includes(statement.verb) &&
		apiGroups.includes(statement.group) &&
		resources.includes(statement.resource) &&
		resourceNames.includes(address)
	);
}
