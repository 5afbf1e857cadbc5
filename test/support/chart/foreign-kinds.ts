import { join } from "node:path";
import { goModule } from "./go-module.ts";

const certManager = {
	module: "github.com/cert-manager/cert-manager@v1.21.2",
	folder: "deploy/crds",
};
const gateways = {
	module: "sigs.k8s.io/gateway-api@v1.6.3",
	folder: "config/crd/standard",
};
const prometheus = {
	module: "github.com/prometheus-operator/prometheus-operator@v0.85.0",
	folder: "example/prometheus-operator-crd",
};

/** The kinds of others that the chart makes, and where their makers publish what they look like. */
const definitions = {
	Certificate: [certManager, "cert-manager.io_certificates"],
	HTTPRoute: [gateways, "gateway.networking.k8s.io_httproutes"],
	PodMonitor: [prometheus, "monitoring.coreos.com_podmonitors"],
	PrometheusRule: [prometheus, "monitoring.coreos.com_prometheusrules"],
	ServiceMonitor: [prometheus, "monitoring.coreos.com_servicemonitors"],
} as const;

/** Not Kubernetes' own. */
export const foreignKinds = Object.keys(definitions);

/** Paths of the CustomResourceDefinitions of the {@link foreignKinds}. */
export function foreignDefinitions(): Promise<string[]> {
	return Promise.all(
		Object.values(definitions).map(async ([{ module, folder }, name]) =>
			join(await goModule(module), folder, `${name}.yaml`),
		),
	);
}
