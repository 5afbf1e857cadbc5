import { homedir } from "node:os";
import { join } from "node:path";
import { KubeClient } from "../kube/client/client.ts";
import { loadKubeConfig } from "../kube/client/kube-config.ts";

/** The cluster and namespace of a command, chosen as kubectl does. */
export interface Cluster {
	client: KubeClient;
	namespace: string;
}

/** Throws SettingError if there is no usable kubeconfig. */
export function chooseCluster(options: {
	namespace?: string | undefined;
	context?: string | undefined;
	kubeconfig?: string | undefined;
}): Cluster {
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
