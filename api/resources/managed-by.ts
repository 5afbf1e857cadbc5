import type { ObjectMeta } from "../../kube/resource.ts";

/** What undoes changes that are made here, since the resource stands in a repository. */
export type Manager = "ArgoCD" | "Flux" | "Helm";

/** Who keeps the resource in step with a repository, by the marks that each tool documents; undefined when nobody does. */
export function managedBy({
	labels = {},
	annotations = {},
}: Pick<ObjectMeta, "labels" | "annotations">): Manager | undefined {
	if (
		"argocd.argoproj.io/tracking-id" in annotations ||
		"argocd.argoproj.io/instance" in labels
	)
		return "ArgoCD";
	if (
		"kustomize.toolkit.fluxcd.io/name" in labels ||
		"helm.toolkit.fluxcd.io/name" in labels
	)
		return "Flux";
	return "meta.helm.sh/release-name" in annotations ? "Helm" : undefined;
}
