import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Kvm } from "@nats-io/kv";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import {
	type Source,
	sourceKind,
	type TrackingPlan,
	trackingPlanKind,
} from "../../crds/generated/types.ts";
import { bucket } from "../../packages/contracts/nats.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import { documentedText } from "../support/examples/documented.ts";
import { passingDirectory } from "../support/faults/passing-directory.ts";
import { applyYaml } from "../support/fixtures/control-plane/apply-yaml.ts";
import {
	eventReasons,
	routesIn,
} from "../support/fixtures/control-plane/cluster-state.ts";
import { OperatorWorld } from "../support/fixtures/control-plane/operator-world.ts";
import { kubectl, kubectlDone } from "../support/servers/kubectl.ts";

let fixture: OperatorWorld;

beforeAll(async () => {
	fixture = await OperatorWorld.start({ archive: "none", node: "none" });
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

function waitFor(
	condition: string,
	plan = "orders",
): Promise<{ exitCode: number | null }> {
	return kubectl([
		"wait",
		`--for=condition=${condition}`,
		`trackingplan/${plan}`,
		`--namespace=${fixture.accounts[0]}`,
		"--timeout=120s",
	]);
}

test("kubectl wait sees a plan become ready, invalid, and ready again", async () => {
	const [namespace] = fixture.accounts;
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

test("the example becomes ready, and so does a plan whose schemas a ConfigMap made of files holds", async () => {
	const [namespace] = fixture.accounts;
	const inNamespace = `--namespace=${namespace}`;
	const example = join(import.meta.dirname, "../../examples/tracking-plan");
	await kubectlDone(["apply", inNamespace, `--filename=${example}`]);
	expect((await waitFor("Ready")).exitCode).toBe(0);

	const folder = await passingDirectory("schemas");
	const schema = { $ref: "common#/$defs/id" };
	const $defs = { id: { type: "integer" } };
	await writeFile(join(folder, "common.json"), JSON.stringify({ $defs }));
	await writeFile(join(folder, "push.json"), JSON.stringify(schema));
	const files = `--from-file=${folder}`;
	await kubectlDone(["create", inNamespace, "configmap", "schemas", files]);
	const label = ["configmap", "schemas", "tidemill.dev/use=true"];
	await kubectlDone(["label", inNamespace, ...label]);
	await applyYaml(
		namespace,
		`apiVersion: tidemill.dev/v1alpha1
kind: TrackingPlan
metadata: { name: github }
${specWithConfigMap()}`,
	);
	expect((await waitFor("Ready", "github")).exitCode).toBe(0);
});

/** As the page shows it. */
function specWithConfigMap(): string {
	return documentedText("docs/tracking-plans.md#schemas yaml");
}

test("a fault that is longer than a condition's message is told in part", async () => {
	const [, namespace] = fixture.accounts;
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

const sourceYaml = (
	name: string,
	plan: string,
) => `apiVersion: tidemill.dev/v1alpha1
kind: Source
metadata: { name: ${name} }
spec:
  type: Webhook
  webhook: { trackingPlanRef: { name: ${plan} } }
`;

const namedPlan = (name: string, schema: string) =>
	planYaml(schema).replace("name: orders", `name: ${name}`);

async function routePlanOf(source: string, namespace: string) {
	const { routes } = await routesIn(fixture.connection);
	const route = routes[source];
	return route?.account === namespace ? route.plan : undefined;
}

async function documentKeys(): Promise<string[]> {
	const kv = await new Kvm(fixture.connection).open(bucket.routes);
	const keys: string[] = [];
	for await (const key of await kv.keys("plan.>")) keys.push(key);
	return keys;
}

async function conditionOf(source: string, type: string) {
	const [namespace] = fixture.accounts;
	const found = await fixture.client.get<Source>(sourceKind, source, namespace);
	return findCondition(found?.status?.conditions, type);
}

const soon = { timeout: 60_000, interval: 50 };

/** Waits until a Source's condition has the reason, and returns its route's plan. */
async function planAt(source: string, type: string, reason: string) {
	await vi.waitFor(
		async () => expect((await conditionOf(source, type))?.reason).toBe(reason),
		soon,
	);
	return (await routePlanOf(source, fixture.accounts[0]))?.version;
}

test("the last good version validates through broken edits and restarts, and a plan in use isn't deleted", async () => {
	const [namespace, other] = fixture.accounts;
	const { client } = fixture;
	await applyYaml(namespace, sourceYaml("validated", "checkout"));
	await applyYaml(other, sourceYaml("thief", "checkout"));
	await vi.waitFor(
		async () =>
			expect(await routePlanOf("validated", namespace)).toEqual({
				name: "checkout",
			}),
		soon,
	);

	await applyYaml(namespace, namedPlan("checkout", "{ type: object }"));
	const first = await planAt("validated", "PlanCurrent", "Current");
	expect(await planAt("validated", "Ready", "Active")).toBe(first);
	expect(first).toMatch(/^[0-9a-f]{16}$/);
	expect(await documentKeys()).toEqual([`plan.${namespace}.checkout.${first}`]);

	await applyYaml(namespace, namedPlan("checkout", "{ type: objekt }"));
	expect(await planAt("validated", "PlanCurrent", "PlanInvalid")).toBe(first);
	await fixture.killOperator();
	fixture.startOperator();
	await applyYaml(namespace, sourceYaml("validated-as-well", "checkout"));
	expect(await planAt("validated-as-well", "PlanCurrent", "PlanInvalid")).toBe(
		first,
	);
	expect((await conditionOf("validated", "Ready"))?.status).toBe("True");
	await vi.waitFor(
		async () =>
			expect(
				await client.get(trackingPlanKind, "checkout", namespace),
			).toMatchObject({ status: { version: first, usedBy: 2 } }),
		soon,
	);

	await applyYaml(namespace, namedPlan("checkout", "{ required: [id] }"));
	const second = await planAt("validated", "PlanCurrent", "Current");
	expect(second).not.toBe(first);
	await vi.waitFor(
		async () =>
			expect(await documentKeys()).toEqual([
				`plan.${namespace}.checkout.${second}`,
			]),
		soon,
	);
	// The same name in another account is another plan.
	expect(await routePlanOf("thief", other)).toEqual({ name: "checkout" });

	await client.delete(trackingPlanKind, "checkout", namespace);
	expect(await planAt("validated", "PlanCurrent", "PlanDeleting")).toBe(second);
	await vi.waitFor(async () => {
		expect(
			await client.get(trackingPlanKind, "checkout", namespace),
		).toMatchObject({
			status: {
				conditions: [
					{ type: "Ready" },
					{
						type: "InUse",
						message: expect.stringContaining(
							'"validated", "validated-as-well"',
						),
					},
				],
			},
		});
		expect(
			await eventReasons(client, trackingPlanKind, namespace, "checkout"),
		).toContain("DeletionWaitsForSources");
	}, soon);
	for (const name of ["validated", "validated-as-well"])
		await client.delete(sourceKind, name, namespace);
	await vi.waitFor(async () => {
		expect(
			await client.get(trackingPlanKind, "checkout", namespace),
		).toBeUndefined();
		expect(await documentKeys()).toEqual([]);
	}, soon);
});

test("a plan's schema stands in a ConfigMap with the label, and an edit of it is a new version", async () => {
	const [namespace] = fixture.accounts;
	const configMap = (schema: string, label: string) => `apiVersion: v1
kind: ConfigMap
metadata: { name: schemas, labels: { tidemill.dev/use: "${label}" } }
data: { order.json: '${schema}' }
`;
	const plan = namedPlan("large", "{}").replace(
		"schema: {}",
		"schemaFrom: { configMapKeyRef: { name: schemas, key: order.json } }",
	);
	await applyYaml(namespace, configMap('{"type":"object"}', "false"));
	await applyYaml(namespace, plan);
	await applyYaml(namespace, sourceYaml("large", "large"));
	expect(
		await planAt("large", "Ready", "TrackingPlanUnavailable"),
	).toBeUndefined();
	await vi.waitFor(
		async () =>
			expect(
				await fixture.client.get(trackingPlanKind, "large", namespace),
			).toMatchObject({
				status: { conditions: [{ reason: "ConfigMapNotLabelled" }] },
			}),
		soon,
	);
	await applyYaml(namespace, configMap('{"type":"object"}', "true"));
	await planAt("large", "Ready", "Active");
	const first = await planAt("large", "PlanCurrent", "Current");
	await applyYaml(namespace, configMap('{"type":"array"}', "true"));
	await vi.waitFor(async () => {
		const plan = await routePlanOf("large", namespace);
		expect(plan?.version).toMatch(/^[0-9a-f]{16}$/);
		expect(plan?.version).not.toBe(first);
	}, soon);
});

test("integers of a plan and all numbers of a schema in a ConfigMap are published as they are written", async () => {
	const [namespace] = fixture.accounts;
	await applyYaml(
		namespace,
		`apiVersion: v1
kind: ConfigMap
metadata: { name: exact, labels: { tidemill.dev/use: "true" } }
data: { order.json: '{"maximum":0.30000000000000000001}' }
`,
	);
	await kubectlDone(
		["apply", "--filename=-", `--namespace=${namespace}`],
		`${namedPlan("exact", "{ maximum: 9007199254740993 }")}  commonFrom: { configMapKeyRef: { name: exact, key: order.json } }
`,
	);
	await applyYaml(namespace, sourceYaml("exact", "exact"));
	const version = await planAt("exact", "PlanCurrent", "Current");
	const kv = await new Kvm(fixture.connection).open(bucket.routes);
	const found = await kv.get(`plan.${namespace}.exact.${version}`);
	expect(found?.string()).toContain('"maximum":9007199254740993}');
	expect(found?.string()).toContain('"maximum":0.30000000000000000001}');
});

test("a plan that is nested too deeply says so, with a number beyond 53 bits, too", async () => {
	const [namespace] = fixture.accounts;
	const depth = 20_000;
	const schema = `${'{"not":'.repeat(depth)}{"maximum":9007199254740993}${"}".repeat(depth)}`;
	await applyYaml(
		namespace,
		`apiVersion: v1
kind: ConfigMap
metadata: { name: deep, labels: { tidemill.dev/use: "true" } }
data: { order.json: '${schema}' }
`,
	);
	await applyYaml(
		namespace,
		`${namedPlan("deep", "{}")}  commonFrom: { configMapKeyRef: { name: deep, key: order.json } }
`,
	);
	await vi.waitFor(
		async () =>
			expect(
				await fixture.client.get(trackingPlanKind, "deep", namespace),
			).toMatchObject({
				status: {
					conditions: [
						{
							reason: "InvalidSchema",
							message: expect.stringContaining("nested too deeply"),
						},
					],
				},
			}),
		soon,
	);
});
