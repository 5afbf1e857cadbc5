import type { KubeClient } from "../../packages/kube/client/client.ts";
import { unless } from "../../packages/kube/client/client.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import { heldRights, type ResourceRight } from "../caller/rights.ts";

/** Verbs by plural, or by plural and subresource: `sources`, `sources/bodies`. `tokens` are what `/v1/tokens` gives. */
export type Rights = Record<string, string[]>;

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

const bindings = "rbac.authorization.k8s.io";
/** What is asked beside the verbs on Tidemill's own resources. A token is a ServiceAccount with a binding. */
const foreign: Required<ResourceRight>[] = [
	{ group: "", resource: "pods/log", verb: "get" },
	...verbs.map((verb) => ({ group: "", resource: "secrets", verb })),
	{ group: "", resource: "serviceaccounts", verb: "create" },
	{ group: "", resource: "serviceaccounts", verb: "delete" },
	{ group: "", resource: "serviceaccounts/token", verb: "create" },
	{ group: bindings, resource: "rolebindings", verb: "list" },
	{ group: bindings, resource: "rolebindings", verb: "create" },
];

/** What the client's token may do in the namespace, in the console's words. Rights to single objects aren't offered. */
export async function rightsIn(
	client: Pick<KubeClient, "raw">,
	namespace: string,
): Promise<Rights> {
	const own = resources.flatMap((resource) =>
		verbs.map((verb) => ({ resource, verb })),
	);
	const held: ResourceRight[] = await heldRights(client, namespace, [
		...own,
		...foreign,
	]);
	const verbsOn = (resource: string) =>
		held.filter((one) => one.resource === resource).map(({ verb }) => verb);
	const mayIssue =
		verbsOn("serviceaccounts").includes("create") &&
		verbsOn("serviceaccounts/token").includes("create") &&
		verbsOn("rolebindings").includes("create");
	return {
		...Object.fromEntries(
			[...resources, "pods/log", "secrets"].map((resource) => [
				resource,
				verbsOn(resource),
			]),
		),
		tokens: [
			...(verbsOn("rolebindings").includes("list") ? ["get", "list"] : []),
			...(mayIssue ? ["create"] : []),
			...(verbsOn("serviceaccounts").includes("delete") ? ["delete"] : []),
		],
	};
}

/** The namespaces that the visitor may choose: all that are there if they may list them, else the one that they are in. */
export async function namespacesOf(
	client: Pick<KubeClient, "list">,
	current: string,
): Promise<string[]> {
	const listed = client.list(kinds.namespace, { limit: 500 });
	const found = await unless(listed, "Forbidden");
	if (!found) return [current];
	const names = found.items.map(({ metadata }) => metadata.name!);
	// Of more than a page, it may be one of the others.
	const others = found.metadata.continue ? [current] : [];
	return [...new Set([...others, ...names])].sort();
}
