import type { PolicyRule } from "../../packages/kube/client/self-review.ts";

/** One thing that the operator does, in each namespace that it serves. */
export interface NeededPermission {
	verb: string;
	apiGroup: string;
	resource: string;
}

const read = ["get", "list", "watch"];

/** The rules of the ClusterRole tidemill-operator-in-namespace in the chart; a test compares. */
export const namespaceRules = [
	rule("batch", ["jobs"], [...read, "create", "patch", "delete"]),
	rule("", ["pods"], read),
	rule("", ["secrets"], [...read, "create", "patch", "update", "delete"]),
	rule("", ["configmaps"], read),
	rule("", ["persistentvolumeclaims", "serviceaccounts"], read),
	rule("rbac.authorization.k8s.io", ["rolebindings"], read),
	rule("events.k8s.io", ["events"], ["create", "patch", "update"]),
];

function rule(apiGroup: string, resources: string[], verbs: string[]) {
	return { apiGroups: [apiGroup], resources, verbs };
}

/** What the operator needs in a namespace. */
export const neededPermissions: readonly NeededPermission[] =
	namespaceRules.flatMap(({ apiGroups, resources, verbs }) =>
		apiGroups.flatMap((apiGroup) =>
			resources.flatMap((resource) =>
				verbs.map((verb) => ({ verb, apiGroup, resource })),
			),
		),
	);

/** What of the needed no granted rule allows. */
export function missingPermissions(
	granted: readonly PolicyRule[],
): NeededPermission[] {
	const has = (values: string[] | undefined, value: string) =>
		values?.includes("*") || values?.includes(value);
	return neededPermissions.filter(
		({ verb, apiGroup, resource }) =>
			!granted.some(
				(rule) =>
					!rule.resourceNames?.length &&
					has(rule.verbs, verb) &&
					has(rule.apiGroups, apiGroup) &&
					has(rule.resources, resource),
			),
	);
}

/** Who lacks a permission, and where. */
export interface PermissionLack {
	missing: readonly NeededPermission[];
	/** Undefined for all namespaces. */
	namespace: string | undefined;
	/** The operator's user name, such as `system:serviceaccount:tidemill-system:tidemill-operator`. */
	user: string;
	/** The ClusterRole with the rules, which is also what its bindings are called. */
	role: string;
}

/** For people: which rules are missing, and the command that brings them back. */
export function lackMessage(lack: PermissionLack): string {
	const { missing, namespace, user, role } = lack;
	const where = namespace
		? `in namespace "${namespace}"`
		: "in all namespaces (operator.watchNamespaces is *)";
	const what = [...Map.groupBy(missing, nameOf)].map(
		([resource, lacks]) =>
			`${lacks.map(({ verb }) => verb).join(", ")} ${resource}`,
	);
	const start = `The operator (${user}) may not ${where}: ${what.join("; ")}.`;
	// A binding gives all rules of its role.
	return missing.length === neededPermissions.length
		? `${start} Its ${kindOf(lack)} is missing or is not for this user. An administrator restores it with "helm upgrade" of Tidemill's release, or with: ${bindCommand(lack)}`
		: `${start} ClusterRole "${role}" lacks these rules, or a webhook of the cluster refuses them. An administrator restores the role with "helm upgrade" of Tidemill's release; see it with: kubectl get clusterrole ${role} --output=yaml`;
}

/** Also corrects a binding that names another user or role. */
function bindCommand(lack: PermissionLack): string {
	const { namespace, user, role } = lack;
	const account = /^system:serviceaccount:([^:]+:[^:]+)$/.exec(user)?.[1];
	return [
		`kubectl create ${kindOf(lack).toLowerCase()} ${role} --clusterrole=${role}`,
		account ? `--serviceaccount=${account}` : `--user=${user}`,
		...(namespace ? [`--namespace=${namespace}`] : []),
		"--dry-run=client --output=yaml | kubectl auth reconcile --filename=-",
	].join(" ");
}

function kindOf({
	namespace,
}: PermissionLack): "RoleBinding" | "ClusterRoleBinding" {
	return namespace ? "RoleBinding" : "ClusterRoleBinding";
}

/** As kubectl names a resource. */
function nameOf({ apiGroup, resource }: NeededPermission): string {
	return apiGroup ? `${resource}.${apiGroup}` : resource;
}
