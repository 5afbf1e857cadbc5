import { KubeConfig } from "@kubernetes/client-node";
import { checkTls } from "./cluster.ts";
import { kubeconfigErrors } from "./errors.ts";

/**
 * The kubeconfig at this path with this context or its own, or without a path the Pod's own service account.
 * Throws `SettingError` and never quotes the file, which holds credentials.
 */
export function loadKubeConfig(
	path: string | undefined,
	context?: string,
): KubeConfig {
	const config = new KubeConfig();
	if (path === undefined) {
		if (!process.env.KUBERNETES_SERVICE_HOST) throw kubeconfigErrors.notInPod();
		config.loadFromCluster();
		return config;
	}
	try {
		config.loadFromFile(path);
	} catch (error) {
		throw kubeconfigErrors.unreadable(path, error);
	}
	if (context) config.setCurrentContext(context);
	const cluster = config.getCurrentCluster();
	if (!cluster || !URL.canParse(cluster.server))
		throw kubeconfigErrors.noCluster(path, config.getCurrentContext() ?? "");
	const { name: _, ...credentials } = config.getCurrentUser() ?? { name: "" };
	checkTls(path, cluster, Object.values(credentials).some(Boolean));
	return config;
}
