// In make test: packages/kube/reconcile/status-writer.test.ts
import { afterAll, beforeAll, expect, inject, test, vi } from "vitest";
import {
	destinationKind,
	sourceKind,
	trackingPlanKind,
} from "../../crds/generated/types.ts";
import {
	type Condition,
	findCondition,
} from "../../packages/kube/conditions.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import type { KubeObject, ResourceKind } from "../../packages/kube/resource.ts";
import { applyYaml } from "../support/fixtures/control-plane/apply-yaml.ts";
import { eventReasons } from "../support/fixtures/control-plane/cluster-state.ts";
import { OperatorWorld } from "../support/fixtures/control-plane/operator-world.ts";
import {
	type AdmissionWebhook,
	startAdmissionWebhook,
	untilRefused,
} from "../support/servers/admission-webhook.ts";

/* What a failing admission webhook refuses of the kinds that are no Run: each says so, and goes on when it may. */

let fixture: OperatorWorld;
let account: string;
let webhook: AdmissionWebhook;

const wait = { timeout: 120_000, interval: 50 };

beforeAll(async () => {
	fixture = await OperatorWorld.start({ archive: "none", node: "none" });
	[account] = fixture.accounts;
	webhook = await startAdmissionWebhook(
		fixture.client,
		inject("pki").ca,
		account,
		[
			{ apiGroups: [""], resources: ["secrets"] },
			{ apiGroups: ["batch"], resources: ["jobs"] },
			{
				apiGroups: ["tidemill.dev"],
				resources: ["trackingplans/status"],
				operations: ["UPDATE"],
			},
		],
	);
	const probe = { metadata: { name: "probe", namespace: account } };
	await untilRefused(fixture.client, kinds.secret, probe);
	fixture.startOperator();
});

afterAll(async () => {
	await webhook?.stop();
	await fixture?.stop();
});

async function ready<T extends KubeObject>(
	kind: ResourceKind<T>,
	name: string,
): Promise<Condition | undefined> {
	const found = (await fixture.client.get(kind, name, account)) as
		| { status?: { conditions?: Condition[] } }
		| undefined;
	return findCondition(found?.status?.conditions, "Ready");
}

function eventsSay<T extends KubeObject>(kind: ResourceKind<T>, name: string) {
	return vi.waitFor(async () => {
		const reasons = await eventReasons(fixture.client, kind, account, name);
		expect(reasons).toContain("WriteRefused");
	}, wait);
}

async function isRefused<T extends KubeObject>(
	kind: ResourceKind<T>,
	name: string,
) {
	await vi.waitFor(async () => {
		expect(await ready(kind, name)).toMatchObject({
			status: "False",
			reason: "WriteRefused",
			message: expect.stringContaining(
				'failed calling webhook "policy.example.com"',
			),
		});
	}, wait);
	expect((await ready(kind, name))!.message).not.toContain(webhook.address);
	await eventsSay(kind, name);
}

test("a Source whose Secret, a Destination whose check and a TrackingPlan whose status is refused say so, and go on when it is permitted", async () => {
	await applyYaml(
		account,
		`apiVersion: tidemill.dev/v1alpha1
kind: Source
metadata: { name: orders }
spec: { type: Webhook }
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: files, labels: { tidemill.dev/use: "true" } }
spec: { accessModes: [ReadWriteOncePod], resources: { requests: { storage: 1Gi } } }
---
apiVersion: tidemill.dev/v1alpha1
kind: Destination
metadata: { name: lake }
spec: { type: DuckDB, duckDB: { path: a.duckdb, volumeClaimName: files } }
---
apiVersion: tidemill.dev/v1alpha1
kind: TrackingPlan
metadata: { name: plan }
spec:
  eventType: { bodyPointer: /type }
  events: [{ type: order, schema: { type: object } }]`,
	);
	await isRefused(sourceKind, "orders");
	await isRefused(destinationKind, "lake");
	// Its status is what is refused, so only the Event can say so.
	await eventsSay(trackingPlanKind, "plan");

	webhook.answer = "permits";
	await vi.waitFor(async () => {
		expect((await ready(sourceKind, "orders"))?.status).toBe("True");
		expect((await ready(destinationKind, "lake"))?.reason).toBe("Checking");
		expect((await ready(trackingPlanKind, "plan"))?.status).toBe("True");
	}, wait);
});
