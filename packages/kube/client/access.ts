import type https from "node:https";
// @kubernetes/client-node: reads kubeconfigs and knows every way to sign in (tokens, files, exec plugins, OIDC).
// Types only: loading it costs 70 MB, which a process without credentials of its own need not pay.
import type { KubeConfig } from "@kubernetes/client-node";

/** Where an apiserver is, and with whose credentials it is asked. */
export interface ClusterAccess {
	readonly server: URL;
	/** Adds credentials to the options of one request, and the agent if it needs a special one. */
	sign(options: https.RequestOptions): Promise<void> | void;
}

/** With the credentials of a kubeconfig's user. */
export function configAccess(config: KubeConfig): ClusterAccess {
	const currentCluster = () => {
		const cluster = config.getCurrentCluster();
		if (!cluster) throw new Error("the kubeconfig has no current cluster");
		return cluster;
	};
	return {
		get server() {
			return new URL(currentCluster().server);
		},
		async sign(options) {
			// Once per request, because token files rotate and exec credentials expire.
			await config.applyToHTTPSOptions(options);
			// The config's own agent keeps no connections. Only a proxy needs it.
			if (!currentCluster().proxyUrl) delete options.agent;
		},
	};
}
