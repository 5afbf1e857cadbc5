/** What the operator may do, one line a permission. A line more here is a line to argue for. */
const kinds = "destinations operations pipelines runs sources trackingplans";

export const operatorRights = {
	everywhere: [
		...rights(
			"tidemill.dev",
			"destinations pipelines sources trackingplans",
			"get list patch update watch",
		),
		...rights(
			"tidemill.dev",
			"runs",
			"create delete get list patch update watch",
		),
		...rights("tidemill.dev", "operations", "delete get list watch"),
		...rights(
			"tidemill.dev",
			kinds.replaceAll(/\w+/g, "$&/status"),
			"get patch update",
		),
		...rights(
			"tidemill.dev",
			kinds.replaceAll(/\w+/g, "$&/finalizers"),
			"update",
		),
		...rights("coordination.k8s.io", "leases", "get list watch"),
		...rights("", "namespaces", "get"),
	],
	/** Where a binding gives them. */
	inNamespace: [
		...rights("batch", "jobs", "create delete get list patch watch"),
		...rights("", "pods", "get list watch"),
		...rights("", "secrets", "create delete get list patch update watch"),
		...rights("", "configmaps", "get list watch"),
		...rights("", "persistentvolumeclaims serviceaccounts", "get list watch"),
		...rights("rbac.authorization.k8s.io", "rolebindings", "get list watch"),
		...rights("events.k8s.io", "events", "create patch update"),
	],
	/** In its own namespace. */
	lease: [
		...rights(
			"coordination.k8s.io",
			"leases",
			"create get list patch update watch",
		),
		...rights("apps", "deployments", "get"),
		...rights("events.k8s.io", "events", "create patch update"),
	],
};

/** `batch/jobs: create`, for each of the resources and verbs. */
export function rights(
	group: string,
	resources: string,
	verbs: string,
): string[] {
	return resources
		.split(" ")
		.flatMap((resource) =>
			verbs.split(" ").map((verb) => `${group}/${resource}: ${verb}`),
		);
}

interface Rule {
	apiGroups: string[];
	resources: string[];
	verbs: string[];
	resourceNames?: string[];
}

/** The same of a SelfSubjectRulesReview's answer, which `kubectl auth can-i --list` shows. */
export function rightsOf(rules: Rule[]): string[] {
	const found = rules.flatMap(
		({ apiGroups, resources, verbs, resourceNames }) =>
			apiGroups.flatMap((group) =>
				rights(group, resources.join(" "), verbs.join(" ")).map((line) =>
					resourceNames ? `${line} by name` : line,
				),
			),
	);
	return [...new Set(found)].sort();
}
