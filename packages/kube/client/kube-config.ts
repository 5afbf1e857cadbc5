import { KubeConfig } from "@kubernetes/client-node";
import { SettingError } from "../../service/settings.ts";
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

/**
 * Throws {@link SettingError} when credentials would travel in clear text to the server of this kubeconfig. Warns when the
 * server's certificate isn't verified.
 */
export function checkTls(
	path: string,
	{ server, skipTLSVerify }: { server: string; skipTLSVerify?: boolean },
	hasCredentials: boolean,
): void {
	// Clients speak plain HTTP to any scheme but https.
	const usesTls = new URL(server).protocol === "https:";
	if (!usesTls && hasCredentials)
		throw new SettingError(
			`The kubeconfig ${path} names the server ${server}, so tokens and other credentials would travel in clear text. Use its https:// address.`,
		);
	if (!usesTls && !skipTLSVerify)
		throw new SettingError(
			`The kubeconfig ${path} names the server ${server}, which doesn't encrypt. Use its https:// address, or set insecure-skip-tls-verify.`,
		);
	if (skipTLSVerify)
		process.emitWarning(
			`The kubeconfig ${path} sets insecure-skip-tls-verify, so whoever stands between here and ${server} can read and change everything, tokens included. Name the server's authority in certificate-authority instead.`,
			"InsecureKubeconfig",
		);
}
