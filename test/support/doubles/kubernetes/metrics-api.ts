import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";

const path = "/apis/metrics.k8s.io/v1beta1";

/** What a HorizontalPodAutoscaler reads of metrics-server, for Pods that don't run. */
export interface MetricsAPI {
	/** Makes an apiserver ask the double. */
	objects: object[];
	stop(): Promise<void>;
}

/**
 * Says of Pods what CPU they use, as metrics-server does
 * (https://github.com/kubernetes/metrics/blob/master/pkg/apis/metrics/v1beta1/types.go).
 * @param usage CPU by the names of Pods that a HorizontalPodAutoscaler has selected.
 */
export async function startMetricsAPI(
	certificate: { cert: string; key: string },
	usage: () => Promise<Record<string, string>>,
): Promise<MetricsAPI> {
	const server = createServer(certificate, async ({ url }, response) => {
		response.setHeader("content-type", "application/json");
		response.end(JSON.stringify(await answer(url!)));
	});
	const answer = async (url: string) => {
		const namespace = /\/namespaces\/([^/]+)\/pods/.exec(url)?.[1];
		if (!namespace) return resources;
		const now = new Date().toISOString();
		const items = Object.entries(await usage()).map(([name, cpu]) => ({
			metadata: { name, namespace },
			timestamp: now,
			window: "10s",
			containers: [{ name: "receive", usage: { cpu, memory: "100Mi" } }],
		}));
		return { ...kind("PodMetricsList"), metadata: {}, items };
	};
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	const { port } = server.address() as AddressInfo;
	const service = { name: "metrics-double", namespace: "kube-system" };
	return {
		objects: [
			{
				apiVersion: "v1",
				kind: "Service",
				metadata: service,
				// Endpoints may not be loopback addresses, and a name may.
				spec: {
					type: "ExternalName",
					externalName: "localhost",
					ports: [{ port }],
				},
			},
			{
				apiVersion: "apiregistration.k8s.io/v1",
				kind: "APIService",
				metadata: { name: "v1beta1.metrics.k8s.io" },
				spec: {
					group: "metrics.k8s.io",
					version: "v1beta1",
					service: { ...service, port },
					insecureSkipTLSVerify: true,
					groupPriorityMinimum: 100,
					versionPriority: 100,
				},
			},
		],
		stop: async () => {
			server.closeAllConnections();
			await new Promise((resolve) => server.close(resolve));
		},
	};
}

function kind(name: string) {
	return { apiVersion: "metrics.k8s.io/v1beta1", kind: name };
}

const resources = {
	apiVersion: "v1",
	kind: "APIResourceList",
	groupVersion: path.replace("/apis/", ""),
	resources: [
		{
			name: "pods",
			singularName: "",
			namespaced: true,
			kind: "PodMetrics",
			verbs: ["get", "list"],
		},
	],
};
