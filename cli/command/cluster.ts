import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { KubeConfig } from "@kubernetes/client-node";
import type { KubeClient } from "../../packages/kube/client/client.ts";
import { KubeApiError } from "../../packages/kube/client/errors.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import type { KubeObject, ResourceKind } from "../../packages/kube/resource.ts";
import { didYouMean } from "../../packages/service/nearest.ts";
import { SettingError } from "../../packages/service/settings.ts";
import { CommandError, NoKubeconfig } from "./errors.ts";
import type { ClusterOptions } from "./group.ts";

/** The cluster and namespace of a command, chosen as kubectl does. */
export interface Cluster {
	client: KubeClient;
	namespace: string;
	/** What chose it, for the REST API's identity. */
	options?: ClusterOptions;
}

/** Throws {@link NoKubeconfig} if there is no usable kubeconfig. */
export async function chooseCluster(
	options: ClusterOptions,
	requestTimeoutMs?: number,
): Promise<Cluster> {
	const { client, namespace } = await readCluster(options, requestTimeoutMs);
	return { client, namespace, options };
}

/** The same, with the kubeconfig that leads there. */
export async function readCluster(
	options: ClusterOptions,
	requestTimeoutMs?: number,
): Promise<Cluster & { config: KubeConfig }> {
	// They take most of a second, which help and a wrong command line needn't.
	const [{ KubeClient }, { loadKubeConfig }] = await Promise.all([
		import("../../packages/kube/client/client.ts"),
		import("../../packages/kube/client/kube-config.ts"),
	]);
	const named = options.kubeconfig || process.env.KUBECONFIG;
	const path = named || join(homedir(), ".kube", "config");
	if (!named && !existsSync(path))
		throw new NoKubeconfig(
			"No cluster is chosen. For a Tidemill on this machine run `make up`, and then `source .tidemill/env` in this terminal. For a cluster, set KUBECONFIG to the path of its kubeconfig.",
		);
	const config = orNoKubeconfig(() => loadKubeConfig(path, options.context));
	const context = config.getContextObject(config.getCurrentContext());
	return {
		config,
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
	cluster: Cluster,
	kind: ResourceKind<T>,
	name: string,
): Promise<T> {
	const { client, namespace } = cluster;
	const found = name && (await client.get<T>(kind, name, namespace));
	if (found) return found;
	await requireNamespace(cluster);
	const [one, many] = wordsOf(kind);
	const names = await namesOf(cluster, kind);
	throw new CommandError(
		`there is no ${one} "${name}" in namespace ${namespace}.${didYouMean(name, names)} List them with: tidemill ${many.replace(" ", "-")} list -n ${namespace}`,
	);
}

/** Throws {@link CommandError} if the cluster says that there is no such namespace, which would look like an empty one. */
export async function requireNamespace(cluster: Cluster): Promise<void> {
	const { client, namespace } = cluster;
	// Who may not read namespaces is told nothing about them.
	const isThere = await client
		.get(kinds.namespace, namespace)
		.catch(ofRefusal(true));
	if (isThere) return;
	const names = await namesOf(cluster, kinds.namespace);
	throw new CommandError(
		`there is no namespace "${namespace}".${didYouMean(namespace, names)} List them with: kubectl get namespaces`,
	);
}

const mostNames = 500;

/** Names that somebody may have meant. None if they may not be listed. */
export async function namesOf(
	{ client, namespace }: Cluster,
	kind: ResourceKind<KubeObject>,
): Promise<string[]> {
	const { items } = await client
		.list(kind, {
			...(kind.namespaced && { namespace }),
			metadataOnly: true,
			limit: mostNames,
		})
		.catch(ofRefusal({ items: [] }));
	return items.map(({ metadata }) => metadata.name);
}

function ofRefusal<T>(instead: T) {
	return (error: unknown): T => {
		if (error instanceof KubeApiError) return instead;
		throw error;
	};
}

/** A kind in plain words: `["tracking plan", "tracking plans"]`. */
export function wordsOf({
	kind,
}: ResourceKind<KubeObject>): [one: string, many: string] {
	const one = kind.replace(/\B[A-Z]/g, " $&").toLowerCase();
	return [one, `${one}s`];
}
