import { SettingError } from "../../service/settings.ts";

/** What is wrong with KUBECONFIG. None of them quotes the file: it holds credentials. */
export const kubeconfigErrors = {
	notInPod: () =>
		new SettingError(
			"KUBECONFIG is not set and this is not a Pod. Set KUBECONFIG to the path of a kubeconfig.",
		),
	unreadable: (path: string, error: unknown) =>
		new SettingError(
			`The kubeconfig ${path} can't be read: ${isMissing(error) ? "there is no such file" : "it is not a kubeconfig in YAML"}. Set KUBECONFIG to the path of a kubeconfig that kubectl accepts.`,
		),
	noCluster: (path: string, context: string) =>
		new SettingError(
			`The kubeconfig ${path} has no usable current cluster (its current-context is "${context}"). Choose one with: kubectl config use-context <name>`,
		),
};

function isMissing(error: unknown): boolean {
	return (error as NodeJS.ErrnoException).code === "ENOENT";
}
