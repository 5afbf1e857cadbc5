import { homedir } from "node:os";
import { join } from "node:path";
import type { KubeClient } from "../../packages/kube/client/client.ts";
import type { KubeObject, ResourceKind } from "../../packages/kube/resource.ts";
import { SettingError } from "../../packages/service/settings.ts";
import { CommandError, NoKubeconfig } from "./errors.ts";
import type { ClusterOptions } from "./group.ts";

/** The cluster and namespace of a command, chosen as kubectl does. */
export interface Cluster {
	client: KubeClient;
	namespace: string;
}

/** Throws {@link NoKubeconfig} if there is no usable kubeconfig. */
export async function chooseCluster(
	options: ClusterOptions,
	requestTimeoutMs?: number,
): Promise<Cluster> {
	// They take most of a second, which help and a wrong command line needn't.
	const [{ KubeClient }, { loadKubeConfig }] = await Promise.all([
		import("../../packages/kube/client/client.ts"),
		import("../../packages/kube/client/kube-config.ts"),
	]);
	const path =
		options.kubeconfig ||
		process.env.KUBECONFIG ||
		join(homedir(), ".kube", "config");
	const config = orNoKubeconfig(() => loadKubeConfig(path, options.context));
	const context = config.getContextObject(config.getCurrentContext());
	return {
		client: KubeClient.fromConfig(config, {
			userAgent: "tidemill",
			...(requestTimeoutMs && { requestTimeoutMs }),
		}),
		namespace: options.namespace || context?.namespace || "default",
	};
}

function orNoKubeconfig<T>(load: () => T): T {
	try {
		return load();
	} catch (error) {
		if (!(error instanceof SettingError)) throw error;
		throw new NoKubeconfig(error.message);
	}
}

/** The object of that name in the cluster's namespace. Throws {@link CommandError} if there is none. */
export async function requireObject<T extends KubeObject>(
	{ client, namespace }: Cluster,
	kind: ResourceKind<T>,
	name: string,
): Promise<T> {
	const found = await client.get<T>(kind, name, namespace);
	if (found) return found;
	const [one, many] = wordsOf(kind);
	throw new CommandError(
		`there is no ${one} "${name}" in namespace ${namespace}. List them with: tidemill ${many.replace(" ", "-")} list -n ${namespace}`,
	);
}

/** A kind in plain words: `["tracking plan", "tracking plans"]`. */
export function wordsOf({
	kind,
}: ResourceKind<KubeObject>): [one: string, many: string] {
	const one = kind.replace(/\B[A-Z]/g, " $&").toLowerCase();
	return [one, `${one}s`];
}
