import { KubeConfig } from "@kubernetes/client-node";
import { kubeconfigErrors } from "./errors.ts";

/**
 * The kubeconfig at this path, or without a path the Pod's own service account.
 * Throws `SettingError` and never quotes the file, which holds credentials.
 */
export function loadKubeConfig(path: string | undefined): KubeConfig {
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
	const server = config.getCurrentCluster()?.server;
	if (server === undefined || !URL.canParse(server))
		throw kubeconfigErrors.noCluster(path, config.getCurrentContext() ?? "");
	return config;
}
