import { expect, test } from "vitest";
import { managedBy } from "./managed-by.ts";

test.each([
	[{ annotations: { "argocd.argoproj.io/tracking-id": "x" } }, "ArgoCD"],
	[{ labels: { "argocd.argoproj.io/instance": "x" } }, "ArgoCD"],
	[{ labels: { "kustomize.toolkit.fluxcd.io/name": "x" } }, "Flux"],
	// Flux's Helm releases carry both marks: Flux is who would undo a change.
	[
		{
			labels: { "helm.toolkit.fluxcd.io/name": "x" },
			annotations: { "meta.helm.sh/release-name": "x" },
		},
		"Flux",
	],
	[{ annotations: { "meta.helm.sh/release-name": "x" } }, "Helm"],
	[{ labels: { app: "x" } }, undefined],
])("%j is managed by %s", (metadata, manager) => {
	expect(managedBy(metadata)).toBe(manager);
});
