import { homedir } from "node:os";
import { join } from "node:path";
import { KubeClient } from "../kube/client/client.ts";

/** The cluster and namespace of a command, chosen as kubectl does. */
export interface Cluster {
	client: KubeClient;
	namespace: string;
}

/** Throws SettingError if there is no usable kubeconfig. */
export async function chooseCluster(options: {
	namespace?: string | undefined;
	context?: string | undefined;
	kubeconfig?: string | undefined;
}): Promise<Cluster> {
	// Takes most of a second, which help and a wrong command line needn't.
	const { loadKubeConfig } = await import("../kube/client/kube-config.ts");
	const path =
		options.kubeconfig ||
		process.env.KUBECONFIG ||
		join(homedir(), ".kube", "config");
	const config = loadKubeConfig(path, options.context);
	const context = config.getContextObject(config.getCurrentContext());
	return {
		client: KubeClient.fromConfig(config, { userAgent: "tidemill" }),
		namespace: options.namespace || context?.namespace || "default",
	};
}
