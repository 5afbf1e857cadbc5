import { ownUser } from "../../packages/kube/client/self-review.ts";
import type { ClusterOptions } from "./group.ts";
import type { Identity } from "./identity.ts";
import { howToPermit, missingRight, serviceAccountOf } from "./permission.ts";

/** A 401 or a 403 of the REST API. */
interface RestRefusal {
	status: number;
	/** The API's own words. */
	reason: string;
	identity: Identity;
	options: ClusterOptions;
	/** TIDEMILL_API_URL. */
	url: string;
}

/** What helps with a refusal here, as the end of its message; nothing for other answers. */
export async function refusalAdvice(refusal: RestRefusal): Promise<string> {
	const { status, reason, identity } = refusal;
	if (status === 401) return `. ${await aboutToken(refusal)}`;
	if (status !== 403) return "";
	// The command's own ServiceAccount goes in minutes: rights are for the person.
	const account =
		identity.from === "own" ? undefined : serviceAccountOf(identity.token);
	const user = account
		? `system:serviceaccount:${account.namespace}:${account.name}`
		: await userOf(refusal);
	const right = missingRight(reason) ?? {
		...{ verb: "get", resource: "sources/bodies", group: "tidemill.dev" },
		namespace: undefined,
	};
	return `. ${howToPermit({
		...right,
		user: right.user ?? user,
		namespace: right.namespace ?? identity.namespace ?? account?.namespace,
	})}`;
}

async function aboutToken(refusal: RestRefusal): Promise<string> {
	const { identity, options } = refusal;
	switch (identity.from) {
		case "kubeconfig":
			return "The token is the kubeconfig's. Get a new one the way you got this one, or choose another context; see who you are with: kubectl auth whoami";
		case "own":
			return `The token was made in the kubeconfig's cluster, namespace ${identity.namespace}, so the API may be another cluster's by now. Choose that one: kubectl config get-contexts`;
		default: {
			const namespace =
				identity.namespace ?? serviceAccountOf(identity.token)?.namespace;
			const where = namespace ? ` -n ${namespace}` : "";
			if (identity.from === "variable" && (await leadsThere(refusal)))
				return `Without TIDEMILL_API_TOKEN your kubeconfig is enough for this API: unset TIDEMILL_API_TOKEN`;
			const other = options.namespace ? "" : where;
			return `Make a token and use it: export TIDEMILL_API_TOKEN="$(tidemill tokens create mine-$(date +%s) --scope edit${other || where})"`;
		}
	}
}

/** Whether the kubeconfig's cluster has this API. */
async function leadsThere({ options, url }: RestRefusal): Promise<boolean> {
	try {
		const { chooseCluster } = await import("./cluster.ts");
		const { isApiOf } = await import("./own-api.ts");
		const { client } = await chooseCluster(options, 5_000);
		return await isApiOf(client, new URL(url));
	} catch {
		return false;
	}
}

/** Who the kubeconfig is of, if its token was sent or one made with it; undefined of another token. */
async function userOf({
	identity,
	options,
}: RestRefusal): Promise<string | undefined> {
	if (!["kubeconfig", "own"].includes(identity.from)) return undefined;
	const { chooseCluster } = await import("./cluster.ts");
	const { client } = await chooseCluster(options);
	return ownUser(client).then(
		({ username }) => username,
		() => undefined,
	);
}
