import { readFileSync } from "node:fs";
import { checkTls, clusterAndUser } from "./cluster.ts";
import { agentFor } from "./token-clients.ts";
import { type ClusterAccess, configAccess } from "./transport.ts";

/** Where a Pod finds its token. kubelet renews the file. */
const podTokenFile = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/**
 * The apiserver, and the credentials of this process: those of the kubeconfig at this path, or without a path those of the Pod. A
 * token of a Pod and a certificate in the file need nothing of the library, whose import costs 0.7 s and 70 MB.
 * Throws `SettingError`.
 */
export async function ownAccess(
	path: string | undefined,
	tokenFile = podTokenFile,
): Promise<ClusterAccess> {
	const { cluster, user = {} } = clusterAndUser(path);
	const server = new URL(cluster.server);
	if (path === undefined) {
		const agent = agentFor(cluster, server);
		return {
			server,
			sign(request) {
				request.agent = agent;
				const authorization = `Bearer ${readFileSync(tokenFile, "utf8").trim()}`;
				request.headers = { ...request.headers, authorization };
			},
		};
	}
	const {
		"client-certificate-data": cert,
		"client-key-data": key,
		...others
	} = user;
	const isPlain = Object.keys(others).length === 0 && !cluster.proxyUrl;
	if (cert && key && cluster.caData && isPlain) {
		checkTls(path, cluster, true);
		const agent = agentFor(cluster, server, {
			cert: Buffer.from(cert, "base64"),
			key: Buffer.from(key, "base64"),
		});
		return {
			server,
			sign(request) {
				request.agent = agent;
			},
		};
	}
	const { loadKubeConfig } = await import("./kube-config.ts");
	return configAccess(loadKubeConfig(path));
}
