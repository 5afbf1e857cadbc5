import type https from "node:https";
// @kubernetes/client-node: reads kubeconfigs and knows every way to sign in (tokens, files, exec plugins, OIDC).
// Its types only: whoever has no credentials of its own needn't load it, which costs 70 MB.
import type { KubeConfig } from "@kubernetes/client-node";

/** Where an apiserver is, and in whose name it is asked. */
export interface Access {
	readonly server: URL;
	/** Adds to the options of one request what it is signed with, and the agent that it must go by, if any. */
	sign(options: https.RequestOptions): Promise<void> | void;
}

/** As the user of a kubeconfig. */
export function configAccess(config: KubeConfig): Access {
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
			// For every request anew: token files rotate and exec credentials expire.
			await config.applyToHTTPSOptions(options);
			// The config's own agent keeps no connections; only one that goes through a proxy is needed.
			if (!currentCluster().proxyUrl) delete options.agent;
		},
	};
}
