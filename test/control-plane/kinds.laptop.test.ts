import { afterAll, beforeAll, expect, test, vi } from "vitest";
import {
	type Destination,
	destinationKind,
	type Operation,
	operationKind,
	type Run,
	runKind,
	type Source,
	sourceKind,
	type TrackingPlan,
	trackingPlanKind,
} from "../../crds/generated/types.ts";
import { resultSubject } from "../../packages/contracts/nats.ts";
import type { OperationReport } from "../../packages/contracts/operation.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import type { KubeObject, ResourceKind } from "../../packages/kube/resource.ts";
import {
	dailyLoad,
	OperatorWorld,
} from "../support/fixtures/control-plane/operator-world.ts";

/*
 * Each kind from its manifest to its status, and to its Job where it has one: a whole operator on a real apiserver, with
 * Kubernetes' own controllers. The archive and the node answer at once.
 */

const others = `apiVersion: tidemill.dev/v1alpha1
kind: TrackingPlan
metadata: { name: plan }
spec:
  eventType: { bodyPointer: /type }
  events: [{ type: order, schema: { type: object } }]
---
apiVersion: tidemill.dev/v1alpha1
kind: Run
metadata: { name: by-hand }
spec: { pipelineRef: { name: load } }
---
apiVersion: tidemill.dev/v1alpha1
kind: Operation
metadata: { name: try }
spec: { type: DryRun, sourceRef: { name: orders }, plan: { name: plan } }
`;

const report: OperationReport = {
	...{ version: 1, type: "DryRun", events: 3, planned: 3 },
	...{ annotated: 0, quarantined: 0, rejected: 0 },
	...{ findings: [], otherFindings: 0 },
};

let world: OperatorWorld;
let namespace: string;

beforeAll(async () => {
	world = await OperatorWorld.start();
	[namespace = ""] = await world.namespaces(1);
	const stored = JSON.stringify({ ok: true, report: JSON.stringify(report) });
	world.archive.subscribe(resultSubject(0), {
		callback: (_, message) => void message.respond(stored),
	});
	world.startOperator([namespace]);
	await world.apply(namespace, `${dailyLoad}---\n${others}`);
});

afterAll(() => world?.stop());

const soon = { timeout: 120_000, interval: 50 };

/** The object, once what it says of itself is this. */
function says<T extends KubeObject>(
	kind: ResourceKind<T>,
	name: string,
	status: object,
): Promise<T> {
	return vi.waitFor(async () => {
		const found = await world.client.get<T>(kind, name, namespace);
		expect(found).toMatchObject({ status });
		return found!;
	}, soon);
}

/** Names of the Jobs for which Kubernetes ever made a Pod. */
async function jobs(): Promise<string[]> {
	const { items } = await world.client.list(kinds.kubeEvent, { namespace });
	return items
		.filter(({ reason }) => reason === "SuccessfulCreate")
		.map(({ regarding }) => regarding!.name!);
}

test("a Source gets the URL of its webhook", async () => {
	const { status } = await says<Source>(sourceKind, "orders", {
		webhookURL: expect.stringMatching(/^https:\/\/in\.example\/hooks\//),
	});
	expect(findCondition(status!.conditions, "Ready")?.reason).toBe("Active");
});

test("a TrackingPlan becomes a version", async () => {
	const { status } = await says<TrackingPlan>(trackingPlanKind, "plan", {
		eventTypes: 1,
		version: expect.stringMatching(/^[0-9a-f]{16}$/),
	});
	expect(findCondition(status!.conditions, "Ready")?.status).toBe("True");
});

test("a Destination is Ready once a Job has checked it", async () => {
	const { status } = await says<Destination>(destinationKind, "lake", {
		phase: "Ready",
		lastCheck: { failures: 0 },
	});
	expect(findCondition(status!.conditions, "Ready")?.reason).toBe("Verified");
	expect(await jobs()).toContainEqual(expect.stringMatching(/^lake-check-/));
});

test("a Run becomes a Job, whose result is in the status of Run and Pipeline", async () => {
	await says<Run>(runKind, "by-hand", {
		...{ phase: "Succeeded", trigger: "Manual", rows: 0, attempts: 1 },
	});
	await world.recorded(namespace, "by-hand");
	expect(await jobs()).toContain("by-hand");
});

test("a Pipeline makes up for the time that it missed, with one Run and one Job", async () => {
	const run = await world.missSlots(namespace);
	await world.recorded(namespace, run);
	await says<Run>(runKind, run, { phase: "Succeeded", trigger: "Schedule" });
	expect(await jobs()).toContain(run);
	const { items } = await world.client.list<Run>(runKind, { namespace });
	const names = items.map(({ metadata }) => metadata.name);
	expect(names.sort()).toEqual(["by-hand", run]);
});

test("an Operation becomes a Job, and what the Job left its result", async () => {
	await says<Operation>(operationKind, "try", {
		phase: "Succeeded",
		summary: "3 events: 3 planned, 0 annotated, 0 quarantined, 0 rejected",
		attempts: 1,
	});
	expect(await jobs()).toContain("try-operation");
});
