import type { Pki } from "./pki.ts";
import { answersOk } from "../process/probe.ts";
import type { Program } from "../machine/program.ts";

export interface ControllerManagerSettings {
	command: string;
	kubeconfigFile: string;
	apiserverPort: number;
	pki: Pki;
	/** More flags, such as those of a cluster whose Pods have addresses. */
	flags?: string[] | undefined;
}

/** Kubernetes' own controllers: Jobs, garbage collection, namespaces, ServiceAccounts and the other defaults. */
export function kubeControllerManager(
	settings: ControllerManagerSettings,
): Program {
	const { pki } = settings;
	return {
		name: "kube-controller-manager",
		command: settings.command,
		args: [
			`--kubeconfig=${settings.kubeconfigFile}`,
			"--use-service-account-credentials",
			`--service-account-private-key-file=${pki.serviceAccount.keyFile}`,
			`--root-ca-file=${pki.ca.certFile}`,
			"--leader-elect=false",
			// At the first start each controller requests its own credentials; the default limits stretch that to 5 s.
			"--kube-api-qps=500",
			"--kube-api-burst=500",
			// No port of its own: it is ready when its work shows.
			"--secure-port=0",
			"--profiling=false",
			...(settings.flags ?? []),
		],
		env: {},
		isReady: () =>
			answersOk(
				`https://127.0.0.1:${settings.apiserverPort}/api/v1/namespaces/default/serviceaccounts/default`,
				{ ca: pki.ca.cert, cert: pki.admin.cert, key: pki.admin.key },
			),
		stopTimeoutMs: 5_000,
	};
}
