import { expect, test } from "vitest";
import type { Run, Source } from "../../crds/generated/types.ts";
import { resourceView, runView } from "./views.ts";

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

test("a source has spec and status on one level, in the CRD's words", () => {
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

test("a run that nobody has seen yet is pending", () => {
	expect(runView(run)).toEqual({
		name: "shop",
		creationTimestamp: "2026-01-01T00:00:00Z",
		pipeline: "orders",
		status: "pending",
	});
});

test("a run shows what it did: the dates it loaded, not those it was asked for", () => {
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
