import type { KubeClient } from "../../packages/kube/client/client.ts";
import { hasReason } from "../../packages/kube/client/client.ts";
import { kinds } from "../../packages/kube/kinds.ts";

/** Verbs by plural, or by plural and subresource: `sources`, `sources/bodies`. `tokens` are what `/v1/tokens` gives. */
export type Rights = Record<string, string[]>;

interface ResourceRule {
	verbs: string[];
	apiGroups?: string[];
	resources?: string[];
	/** The rule is about these objects only. */
	resourceNames?: string[];
}

const verbs = ["get", "list", "watch", "create", "update", "patch", "delete"];
const resources = [
	"sources",
	"sources/events",
	"sources/bodies",
	"destinations",
	"pipelines",
	"runs",
	"operations",
	"trackingplans",
];

/** What the client's token may do in the namespace, by one question to the apiserver (SelfSubjectRulesReview). */
export async function rightsIn(
	client: Pick<KubeClient, "raw">,
	namespace: string,
): Promise<Rights> {
	const apiVersion = "authorization.k8s.io/v1";
	const { status } = (await client.raw(
		"POST",
		`/apis/${apiVersion}/selfsubjectrulesreviews`,
		{
			body: {
				apiVersion,
				kind: "SelfSubjectRulesReview",
				spec: { namespace },
			},
		},
	)) as { status: { resourceRules?: ResourceRule[] } };
	return rightsOf(status.resourceRules ?? []);
}

/** What rules give, in the console's words. Rights to single objects aren't offered. */
export function rightsOf(rules: readonly ResourceRule[]): Rights {
	const may = (group: string, resource: string, verb: string) =>
		rules.some(
			(rule) =>
				!rule.resourceNames?.length &&
				includes(rule.apiGroups, group) &&
				includes(rule.resources, resource) &&
				includes(rule.verbs, verb),
		);
	const rights: Rights = {};
	for (const resource of resources)
		rights[resource] = verbs.filter((verb) =>
			may("tidemill.dev", resource, verb),
		);
	rights["pods/log"] = may("", "pods/log", "get") ? ["get"] : [];
	rights.secrets = verbs.filter((verb) => may("", "secrets", verb));
	// A token is a ServiceAccount with a binding.
	const bindings = "rbac.authorization.k8s.io";
	const mayIssue =
		may("", "serviceaccounts", "create") &&
		may("", "serviceaccounts/token", "create") &&
		may(bindings, "rolebindings", "create");
	rights.tokens = [
		...(may(bindings, "rolebindings", "list") ? ["get", "list"] : []),
		...(mayIssue ? ["create"] : []),
		...(may("", "serviceaccounts", "delete") ? ["delete"] : []),
	];
	return rights;
}

function includes(allowed: string[] | undefined, wanted: string): boolean {
	return Boolean(allowed?.includes("*") || allowed?.includes(wanted));
}

/** The namespaces that the visitor may choose: all if they may list them, else the one that they are in. */
export async function namespacesOf(
	client: KubeClient,
	current: string,
): Promise<string[]> {
	try {
		const { items } = await client.list(kinds.namespace, { limit: 500 });
		const names = items.map(({ metadata }) => metadata.name!);
		return [...new Set([current, ...names])].sort();
	} catch (error) {
		if (hasReason(error, "Forbidden")) return [current];
		throw error;
	}
}
