// In make test: packages/kube/reconcile/status-writer.test.ts
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, inject, test, vi } from "vitest";
import {
	type Operation,
	operationKind,
	type Run,
	runKind,
} from "../../crds/generated/types.ts";
import { newRun } from "../../crds/run.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import { OperatorWorld } from "../support/fixtures/control-plane/operator-world.ts";
import {
	type AdmissionRequest,
	type AdmissionWebhook,
	startAdmissionWebhook,
	untilRefused,
} from "../support/servers/admission-webhook.ts";

/*
 * A failing admission webhook stops a write of each kind for two minutes, by the real clock: what one object's refusal costs the
 * apiserver is counted where it is refused.
 */

const wait = { timeout: 120_000, interval: 100 };
let world: OperatorWorld;
let namespace: string;
let webhook: AdmissionWebhook;

beforeAll(async () => {
	world = await OperatorWorld.start();
	[namespace = ""] = await world.settledNamespaces(1);
	await world.apply(
		namespace,
		`apiVersion: tidemill.dev/v1alpha1
kind: Pipeline
metadata: { name: by-hand }
spec:
  sourceRef: { name: orders }
  destinationRef: { name: lake }
  table: { name: other }
  pendingDeadlineSeconds: 90`,
	);
	await world.missSlots(namespace);
	webhook = await startAdmissionWebhook(
		world.client,
		inject("pki").ca,
		namespace,
		[
			{ apiGroups: [""], resources: ["secrets"] },
			{ apiGroups: ["batch"], resources: ["jobs"] },
			{ apiGroups: ["tidemill.dev"], resources: ["runs"] },
			{
				apiGroups: ["tidemill.dev"],
				resources: ["trackingplans/status"],
				operations: ["UPDATE"],
			},
		],
	);
	const probe = newRun("none", { name: "probe", namespace });
	await untilRefused(world.client, runKind, probe);
	// The test's own Run is let through.
	webhook.answer = ({ name }) => (name === "r" ? "permits" : "fails");
	webhook.requests = [];
	world.startOperator([namespace]);
});

afterAll(async () => {
	await webhook?.stop();
	await world?.stop();
});

/** What the operator wrote for one object of each kind, as the webhook names it. */
const writes: Record<string, (request: AdmissionRequest) => boolean> = {
	Source: ({ name }) => name.startsWith("refused-webhook"),
	Destination: ({ name }) => name.startsWith("refused-check"),
	Pipeline: ({ resource, name }) =>
		resource.resource === "runs" && name.startsWith("load-"),
	TrackingPlan: ({ subResource }) => subResource === "status",
	Run: ({ name }) => name.startsWith("r-"),
	Operation: ({ name }) => name.startsWith("refused-operation"),
};

function requestsOf(kind: string): number {
	return webhook.requests.filter(writes[kind]!).length;
}

test("a refused write of each kind costs under one request in 10 s after a minute, and a Run ends at its deadline", async () => {
	await world.apply(
		namespace,
		`apiVersion: tidemill.dev/v1alpha1
kind: Source
metadata: { name: refused }
spec: { type: Webhook }
---
apiVersion: tidemill.dev/v1alpha1
kind: Destination
metadata: { name: refused }
spec: { type: DuckDB, duckDB: { path: a.duckdb, volumeClaimName: lake } }
---
apiVersion: tidemill.dev/v1alpha1
kind: TrackingPlan
metadata: { name: refused }
spec: { eventType: { constant: order }, common: { type: object } }
---
apiVersion: tidemill.dev/v1alpha1
kind: Operation
metadata: { name: refused }
spec: { type: Draft, sourceRef: { name: orders }, eventType: { constant: order } }
---
apiVersion: tidemill.dev/v1alpha1
kind: Run
metadata: { name: r }
spec: { pipelineRef: { name: by-hand } }`,
	);
	const kindsOfWrites = Object.keys(writes);
	await vi.waitFor(() => {
		for (const kind of kindsOfWrites)
			expect(requestsOf(kind), kind).toBeGreaterThan(0);
	}, wait);
	await delay(60_000);
	const before = kindsOfWrites.map(requestsOf);
	const seconds = 50;
	await delay(seconds * 1_000);
	const cost = Object.fromEntries(
		kindsOfWrites.map((kind, n) => [kind, requestsOf(kind) - before[n]!]),
	);
	console.log(
		`requests in the ${seconds} s after the first minute: ${JSON.stringify(cost)}; in all: ${JSON.stringify(Object.fromEntries(kindsOfWrites.map((kind) => [kind, requestsOf(kind)])))}`,
	);
	for (const [kind, requests] of Object.entries(cost))
		expect(requests, kind).toBeLessThan(seconds / 10);
	// Each goes on trying: none has given up but the Run, whose time is over.
	for (const kind of kindsOfWrites)
		expect(requestsOf(kind), kind).toBeGreaterThan(3);
	await vi.waitFor(async () => {
		const { status } = (await world.client.get<Run>(runKind, "r", namespace))!;
		expect(status).toMatchObject({
			phase: "Failed",
			error: { code: "PendingDeadlineExceeded" },
		});
	}, wait);
	const { status } = (await world.client.get<Operation>(
		operationKind,
		"refused",
		namespace,
	))!;
	expect(findCondition(status?.conditions, "Complete")?.reason).toBe(
		"WriteRefused",
	);
});
