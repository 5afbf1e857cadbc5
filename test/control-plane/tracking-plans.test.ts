import { afterAll, beforeAll, expect, test, vi } from "vitest";
import {
	type TrackingPlan,
	trackingPlanKind,
} from "../../crds/generated/types.ts";
import { applyYaml } from "../support/fixtures/control-plane/apply-yaml.ts";
import {
	eventReasons,
	type OperatorFixture,
	startOperatorFixture,
} from "../support/fixtures/control-plane/operator-fixture.ts";
import { kubectl } from "../support/servers/kubectl.ts";

let fixture: OperatorFixture;

beforeAll(async () => {
	fixture = await startOperatorFixture();
	fixture.startOperator();
});
afterAll(() => fixture?.stop());

const planYaml = (schema: string) => `apiVersion: tidemill.dev/v1alpha1
kind: TrackingPlan
metadata: { name: orders }
spec:
  eventType: { bodyPointer: /type }
  events:
    - type: order
      schema: ${schema}
`;

function waitFor(condition: string): Promise<{ exitCode: number | null }> {
	return kubectl([
		"wait",
		`--for=condition=${condition}`,
		"trackingplan/orders",
		`--namespace=${fixture.namespaces[0]}`,
		"--timeout=120s",
	]);
}

test("kubectl wait sees a plan become ready, invalid, and ready again", async () => {
	const [namespace] = fixture.namespaces;
	await applyYaml(namespace, planYaml("{ type: object }"));
	expect((await waitFor("Ready")).exitCode).toBe(0);
	await applyYaml(namespace, planYaml("{ type: objekt }"));
	expect((await waitFor("Ready=false")).exitCode).toBe(0);
	const { client } = fixture;
	const plan = await client.get<TrackingPlan>(
		trackingPlanKind,
		"orders",
		namespace,
	);
	expect(plan?.status?.conditions?.[0]).toMatchObject({
		reason: "InvalidSchema",
		message: expect.stringContaining('spec.events[0].schema (of "order")'),
	});
	await applyYaml(namespace, planYaml("{ type: object }"));
	expect((await waitFor("Ready")).exitCode).toBe(0);
	await vi.waitFor(
		async () => {
			expect(
				await eventReasons(client, trackingPlanKind, namespace, "orders"),
			).toEqual(expect.arrayContaining(["Valid", "InvalidSchema"]));
		},
		{ timeout: 120_000 },
	);
});

test("a fault that is longer than a condition's message is told in part", async () => {
	const [, namespace] = fixture.namespaces;
	const schema = `{ $schema: "${"x".repeat(40_000)}" }`;
	await applyYaml(namespace, planYaml(schema));
	await vi.waitFor(
		async () => {
			const plan = await fixture.client.get<TrackingPlan>(
				trackingPlanKind,
				"orders",
				namespace,
			);
			expect(plan?.status?.conditions?.[0]).toMatchObject({
				reason: "InvalidSchema",
				message: expect.stringMatching(/x…$/),
			});
		},
		{ timeout: 30_000 },
	);
});
