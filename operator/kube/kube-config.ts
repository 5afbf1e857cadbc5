import { KubeConfig } from "@kubernetes/client-node";
import { SettingError } from "../../service/settings.ts";

/**
 * The kubeconfig at this path, or without one the Pod's own service account.
 * Throws {@link SettingError}, never quoting the file: it holds credentials.
 */
export function loadKubeConfig(path: string | undefined): KubeConfig {
	const config = new KubeConfig();
	if (path === undefined) {
		if (!process.env.KUBERNETES_SERVICE_HOST)
			throw new SettingError(
				"KUBECONFIG is not set and this is not a Pod. Set KUBECONFIG to the path of a kubeconfig.",
			);
		config.loadFromCluster();
		return config;
	}
	try {
		config.loadFromFile(path);
	} catch (error) {
		throw new SettingError(
			`The kubeconfig ${path} can't be read: ${isMissing(error) ? "there is no such file" : "it is not a kubeconfig in YAML"}. Set KUBECONFIG to the path of a kubeconfig that kubectl accepts.`,
		);
	}
	const server = config.getCurrentCluster()?.server;
	if (server === undefined || !URL.canParse(server))
		throw new SettingError(
			`The kubeconfig ${path} has no usable current cluster (its current-context is "${config.getCurrentContext() ?? ""}"). Choose one with: kubectl config use-context <name>`,
		);
	return config;
}

/** The same cluster with a token in place of the config's user. */
export function withToken(kubeConfig: KubeConfig, token: string): KubeConfig {
	const cluster = kubeConfig.getCurrentCluster();
	if (!cluster) throw new Error("the kubeconfig has no current cluster");
	const config = new KubeConfig();
	config.loadFromClusterAndUser(cluster, { name: "token", token });
	return config;
}

function isMissing(error: unknown): boolean {
	return (error as NodeJS.ErrnoException).code === "ENOENT";
}
