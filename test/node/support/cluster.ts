import { inject, test, vi } from "vitest";
import { kubectlDone } from "../../support/servers/kubectl.ts";

const { kubeconfig } = inject("cluster");

/** A test on the cluster; skipped where there is none. */
export const clusterTest = test.skipIf(kubeconfig === undefined);

/** Runs kubectl as the cluster's administrator and returns what it prints. Throws what it complains about. */
export function kubectl(...args: string[]): Promise<string> {
	return kubectlWith("", ...args);
}

/** As {@link kubectl}, with something to read. */
export function kubectlWith(input: string, ...args: string[]): Promise<string> {
	return kubectlDone([...args, `--kubeconfig=${kubeconfig}`], input);
}

/** `kubectl get … -o json`, read. */
export async function get<T>(...args: string[]): Promise<T> {
	return JSON.parse(await kubectl("get", ...args, "--output=json"));
}

/** Creates or changes resources. */
export async function apply(...resources: object[]): Promise<void> {
	const list = { apiVersion: "v1", kind: "List", items: resources };
	await kubectlWith(JSON.stringify(list), "apply", "--filename=-");
}

/** Makes a namespace that enforces the restricted Pod Security Standard. */
export async function makeNamespace(name: string): Promise<void> {
	await apply({
		apiVersion: "v1",
		kind: "Namespace",
		metadata: {
			name,
			labels: { "pod-security.kubernetes.io/enforce": "restricted" },
		},
	});
	// Pods are refused before it is there.
	await vi.waitFor(
		() => kubectl("get", "serviceaccount/default", "--namespace", name),
		{ timeout: 60_000, interval: 200 },
	);
}

export async function removeNamespace(name: string): Promise<void> {
	await kubectl("delete", "namespace", name, "--wait=false");
}
