import {
	answersOk,
	type ChildProgram,
} from "../../../../local/machine/program.ts";
import { ports } from "../addresses.ts";

export function kubeScheduler(settings: {
	command: string;
	kubeconfigFile: string;
	/** For its health endpoint. */
	certificate: { certFile: string; keyFile: string; ca: string };
}): ChildProgram {
	const { certificate } = settings;
	return {
		name: "kube-scheduler",
		command: settings.command,
		args: [
			`--kubeconfig=${settings.kubeconfigFile}`,
			`--authentication-kubeconfig=${settings.kubeconfigFile}`,
			`--authorization-kubeconfig=${settings.kubeconfigFile}`,
			"--leader-elect=false",
			"--bind-address=127.0.0.1",
			`--secure-port=${ports.schedulerHealth}`,
			`--tls-cert-file=${certificate.certFile}`,
			`--tls-private-key-file=${certificate.keyFile}`,
		],
		env: {},
		isReady: () =>
			answersOk(`https://127.0.0.1:${ports.schedulerHealth}/healthz`, {
				ca: certificate.ca,
			}),
		stopTimeoutMs: 5_000,
	};
}
