import { shellWord } from "../../packages/escapes/shell.ts";
import { claimsOf } from "../../packages/kube/client/token-claims.ts";

/** What somebody may not do, as Kubernetes' RBAC names it. */
export interface MissingRight {
	verb: string;
	/** With its subresource: `sources/bodies`. */
	resource: string;
	/** `""` of Kubernetes' core. */
	group: string;
	/** Undefined of the whole cluster. */
	namespace: string | undefined;
	/** Kubernetes' user name; undefined if the refusal doesn't say it. */
	user?: string | undefined;
}

const reads = ["get", "list", "watch"];

/** The ready-made role that has the right with the fewest others; undefined if none has it. */
export function roleFor({
	verb,
	resource,
	group,
}: MissingRight): string | undefined {
	const isRead = reads.includes(verb);
	if (group === "tidemill.dev") {
		if (resource === "tokens") return "tidemill-admin";
		if (resource === "sources/bodies")
			return verb === "erase" ? "tidemill-eraser" : "tidemill-editor";
		if (resource === "sources/events" || (isRead && !resource.includes("/")))
			return "tidemill-viewer";
		if (resource.includes("/")) return undefined;
		const isRunners = resource === "runs" && /^(create|patch)$/.test(verb);
		return isRunners ? "tidemill-runner" : "tidemill-editor";
	}
	if (group === "" && resource === "secrets")
		return verb === "create" ? "tidemill-editor" : undefined;
	if (group === "" && /^pods(\/log)?$/.test(resource))
		return isRead && verb !== "watch" ? "tidemill-log-reader" : undefined;
	if (/^(serviceaccounts(\/token)?|rolebindings)$/.test(resource))
		return /^(get|list|create|delete)$/.test(verb)
			? "tidemill-admin"
			: undefined;
	return undefined;
}

/** What a refusal says is missing, in the words of Kubernetes or of the REST API; undefined of any other refusal. */
export function missingRight(message: string): MissingRight | undefined {
	const [, user, verb, resource, group, where] =
		/User "([^"]+)" cannot (\S+) resource "([^"]+)" in API group "([^"]*)" (?:in the namespace "([^"]+)"|at the cluster scope)/.exec(
			message,
		) ?? [];
	if (verb && resource && group !== undefined)
		return { user, verb, resource, group, namespace: where };
	const [, needed, object, account] =
		/needs the right to (\S+) (\S+)\.tidemill\.dev(?: in account "([^"]+)")?/.exec(
			message,
		) ?? [];
	return needed && object
		? {
				...{ verb: needed, resource: object },
				...{ group: "tidemill.dev", namespace: account },
			}
		: undefined;
}

/** The sentence with the command that gives the right. */
export function howToPermit(right: MissingRight): string {
	const { user, namespace, verb, resource, group } = right;
	const role = roleFor(right);
	const where = namespace ? ` -n ${namespace}` : "";
	if (!role)
		return `See what you may do, and ask who administers the ${namespace ? "namespace" : "cluster"} for the right to ${verb} ${resource}${group && `.${group}`}: kubectl auth can-i --list${where}`;
	const kind = namespace ? "rolebinding" : "clusterrolebinding";
	const [subject, name] = subjectOf(user);
	return `Who administers the ${namespace ? "namespace" : "cluster"} can permit it: kubectl create ${kind} ${name}-${role.replace("tidemill-", "")} --clusterrole=${role} ${subject}${where}`;
}

/** As kubectl names a user, and as a binding may be named for them. */
function subjectOf(user: string | undefined): [option: string, name: string] {
	if (user === undefined) return ["--user=<you>", "<name>"];
	const [, namespace, account] =
		/^system:serviceaccount:([^:]+):([^:]+)$/.exec(user) ?? [];
	if (namespace && account)
		return [`--serviceaccount=${namespace}:${account}`, account];
	const name = user.toLowerCase().replace(/[^a-z0-9]+/g, "-");
	return [`--user=${shellWord(user)}`, name.replace(/^-|-$/g, "") || "user"];
}

/** The ServiceAccount whose token it is, which Kubernetes writes into it; undefined for another's. */
export function serviceAccountOf(
	token: string,
): { namespace: string; name: string } | undefined {
	const { sub } = claimsOf(token);
	const [, namespace, name] =
		/^system:serviceaccount:([a-z0-9-]+):([a-z0-9.-]+)$/.exec(
			String(sub ?? ""),
		) ?? [];
	return namespace && name ? { namespace, name } : undefined;
}
