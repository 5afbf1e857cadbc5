import type { ClusterFacts, WorkloadFacts } from "./facts.ts";
import { type DoctorFinding, failed, ok, skipped } from "./finding.ts";

/** Each role's Pods are ready only while it reaches NATS and, archive, the bucket. */
export function workloads(
	{ workloads, pods, podless }: ClusterFacts,
	clientVersion: string,
): DoctorFinding[] {
	if (workloads === undefined)
		return [
			skipped("processes", "you may not list Deployments of all namespaces"),
		];
	if (workloads.length === 0 && pods.length + podless.length > 0)
		return [
			failed(
				"processes",
				"nothing is installed yet: setup, which comes first, hasn't ended",
			),
		];
	if (workloads.length === 0)
		return [
			skipped(
				"processes",
				"no Deployment runs Tidemill: it runs outside of the cluster, as with make up",
			),
		];
	return [
		...workloads.map((workload) => processes(workload, clientVersion)),
		...withoutArchive(workloads),
	];
}

/** Somebody has scaled archive down, or deleted it: the rest runs, and is as ready as it was. */
function withoutArchive(workloads: WorkloadFacts[]): DoctorFinding[] {
	const running = new Map<string, Set<string>>();
	for (const { metadata, spec } of workloads) {
		const { namespace = "", labels = {} } = metadata;
		const components = running.get(namespace) ?? new Set();
		running.set(namespace, components);
		if (spec.replicas !== 0)
			components.add(labels["app.kubernetes.io/component"] ?? "");
	}
	return [...running]
		.filter(([, all]) => all.has("operator") && !all.has("archive"))
		.map(([namespace]) =>
			failed(
				"archive",
				`none runs in namespace ${namespace}: events wait in NATS until it is full, Runs wait, and nobody makes what a NATS of your own has lost`,
				`Start it (docs/runbooks/TidemillArchiveDown.md): kubectl get deployments -n ${namespace} -l app.kubernetes.io/component=archive`,
			),
		);
}

function processes(
	workload: WorkloadFacts,
	clientVersion: string,
): DoctorFinding {
	const { metadata, spec, status } = workload;
	const { name, namespace, labels = {} } = metadata;
	const component = labels["app.kubernetes.io/component"] ?? name;
	const [ready, wanted] = [status?.readyReplicas ?? 0, spec.replicas ?? 1];
	const message = `${ready} of ${wanted} Pods are ready`;
	if (ready < wanted)
		return failed(
			component,
			message,
			`${reasons[component] ?? "See why:"} kubectl describe pods -n ${namespace} -l app.kubernetes.io/component=${component}`,
		);
	const version = labels["app.kubernetes.io/version"];
	return version !== undefined &&
		version !== clientVersion &&
		reasons[component]
		? failed(
				component,
				`${message}, but it has version ${version} and this command ${clientVersion}`,
				"Use the command of the installed version.",
			)
		: ok(component, message);
}

/** Why a role's Pods aren't ready, most of the time. */
const reasons: Record<string, string> = {
	operator:
		"It is ready once it reaches NATS and the apiserver. See why it isn't:",
	receive: "It is ready once it reaches NATS. See why it isn't:",
	archive:
		"It is ready once it reaches NATS and the bucket, and no shard has stopped. See why it isn't:",
	api: "It is ready once it listens. See why it isn't:",
};
