import { expect, test } from "vitest";
import type { Run, Source } from "../../crds/generated/types.ts";
import { managedBy, resourceView, runView } from "./views.ts";

const metadata = {
	name: "shop",
	namespace: "account",
	uid: "1",
	resourceVersion: "2",
	generation: 3,
	creationTimestamp: "2026-01-01T00:00:00Z",
	labels: { a: "b" },
};

const source: Source = {
	apiVersion: "tidemill.dev/v1alpha1",
	kind: "Source",
	metadata,
	spec: {
		displayName: "The shop",
		type: "Webhook",
		webhook: { authorization: { type: "None" }, maxBodyBytes: 1_048_576 },
		suspend: false,
		deletionPolicy: "Retain",
	},
};

const run: Run = {
	apiVersion: "tidemill.dev/v1alpha1",
	kind: "Run",
	metadata,
	spec: { pipelineRef: { name: "orders" } },
};

test("a source has the fields of spec and status at one level", () => {
	const status: Source["status"] = {
		observedGeneration: 3,
		phase: "Active",
		webhookURL: "https://hooks/1/2",
		counts: { archived: 329 },
	};
	expect(resourceView({ ...source, status })).toEqual({
		name: "shop",
		creationTimestamp: "2026-01-01T00:00:00Z",
		displayName: "The shop",
		type: "Webhook",
		webhook: { authorization: { type: "None" }, maxBodyBytes: 1_048_576 },
		suspend: false,
		deletionPolicy: "Retain",
		phase: "Active",
		webhookURL: "https://hooks/1/2",
		counts: { archived: 329 },
	});
});

test("a run without a status is pending", () => {
	expect(runView(run)).toEqual({
		name: "shop",
		creationTimestamp: "2026-01-01T00:00:00Z",
		pipeline: "orders",
		status: "pending",
	});
});

test("a run shows the dates that it loaded, not the requested ones", () => {
	expect(
		runView({
			...run,
			spec: {
				...run.spec,
				dates: { start: "2020-01-01", end: "2026-01-02" },
			},
			status: {
				phase: "Failed",
				trigger: "API",
				dates: { start: "2026-01-01", end: "2026-01-02" },
				error: { code: "DestinationBusy", message: "busy", retryable: true },
			},
		}),
	).toEqual({
		name: "shop",
		creationTimestamp: "2026-01-01T00:00:00Z",
		pipeline: "orders",
		status: "failed",
		trigger: "API",
		dates: { start: "2026-01-01", end: "2026-01-02" },
		error: { code: "DestinationBusy", message: "busy", retryable: true },
	});
});

test.each([
	[{ annotations: { "argocd.argoproj.io/tracking-id": "x" } }, "ArgoCD"],
	[{ labels: { "argocd.argoproj.io/instance": "x" } }, "ArgoCD"],
	[{ labels: { "kustomize.toolkit.fluxcd.io/name": "x" } }, "Flux"],
	// Flux's Helm releases have both marks, and Flux would undo a change.
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
