import { expect, test } from "vitest";
import type { Pipeline, Run, Source } from "../../crds/generated/types.ts";
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

const head = {
	labels: { a: "b" },
	name: "shop",
	id: "1",
	createTime: "2026-01-01T00:00:00Z",
	updateTime: "2026-01-01T00:00:00Z",
	generation: 3,
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
		retentionDays: 30,
		deletionPolicy: "Retain",
	},
};

const layout = {
	sourceKey: "1",
	destination: "d",
	table: "t",
	columns: [],
	strategy: "Incremental",
};

const run: Run = {
	apiVersion: "tidemill.dev/v1alpha1",
	kind: "Run",
	metadata,
	spec: { pipelineRef: { name: "orders" } },
};

test("a source has the fields of spec and status at one level, without internals", () => {
	const status: Source["status"] = {
		observedGeneration: 3,
		phase: "Active",
		webhookURL: "https://hooks/1/2",
		sourceKey: "1",
		shard: 0,
		counts: { archived: 329 },
	};
	expect(resourceView({ ...source, status })).toEqual({
		...head,
		observedGeneration: 3,
		displayName: "The shop",
		type: "Webhook",
		webhook: { authorization: { type: "None" }, maxBodyBytes: 1_048_576 },
		suspend: false,
		retentionDays: 30,
		deletionPolicy: "Retain",
		status: "Active",
		webhookURL: "https://hooks/1/2",
		counts: { archived: 329 },
	});
});

test("a run without a status is pending", () => {
	expect(runView(run)).toEqual({
		...head,
		pipeline: "orders",
		status: "Pending",
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
		...head,
		pipeline: "orders",
		status: "Failed",
		trigger: "API",
		dates: { start: "2026-01-01", end: "2026-01-02" },
		error: { code: "DestinationBusy", message: "busy", retryable: true },
	});
});

test("what the operator notes for itself is not shown, and each state is called status", () => {
	const closedThrough = "2025-12-31";
	const status: NonNullable<Pipeline["status"]> = {
		phase: "Ready",
		lastRun: { name: "a-1", phase: "Failed", rows: 0 },
		lastSuccess: {
			snapshotTime: "2026-01-01T00:00:00Z",
			closedThrough,
			layout,
		},
	};
	expect(resourceView({ metadata, spec: {}, status })).toEqual({
		...head,
		status: "Ready",
		lastRun: { name: "a-1", status: "Failed", rows: 0 },
		lastSuccess: { snapshotTime: "2026-01-01T00:00:00Z", closedThrough },
	});
});

test("the time of the last update is that of the latest writer", () => {
	const managedFields = ["2026-01-03", "2026-01-02"].map((date) => ({
		manager: "any",
		time: `${date}T00:00:00Z`,
	}));
	const written = { ...metadata, managedFields };
	expect(resourceView({ metadata: written, spec: {} })).toMatchObject({
		createTime: "2026-01-01T00:00:00Z",
		updateTime: "2026-01-03T00:00:00Z",
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
