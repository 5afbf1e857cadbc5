// In make test: packages/fair/turns.test.ts
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import {
	runKind,
	type TrackingPlan,
	trackingPlanKind,
} from "../../../crds/generated/types.ts";
import { newRun } from "../../../crds/run.ts";
import { findCondition } from "../../../packages/kube/conditions.ts";
import {
	dailyLoad,
	OperatorWorld,
} from "../../support/fixtures/control-plane/operator-world.ts";

/* Who may write TrackingPlans costs no other account its plans and Runs. */

const wait = { timeout: 120_000, interval: 50 };
let world: OperatorWorld;
let hostile: string;
let neighbour: string;

beforeAll(async () => {
	world = await OperatorWorld.start();
	[hostile = "", neighbour = ""] = await world.namespaces(2);
	world.startOperator([hostile, neighbour]);
});

afterAll(() => world?.stop());

function createPlan(namespace: string, name: string, schema: object) {
	const plan = {
		metadata: { namespace, name },
		spec: { eventType: { constant: "order" }, common: schema },
	};
	return world.client.create(trackingPlanKind, plan as TrackingPlan);
}

/** It takes about a second to compile. */
const slow = {
	anyOf: Array.from({ length: 1_000 }, (_, index) => ({
		properties: { [`p${index}`]: { minLength: index } },
	})),
};
const slowPlans = Array.from({ length: 12 }, (_, index) => `slow-${index}`);

async function readinessOf(namespace: string, name: string) {
	const plan = await world.client.get<TrackingPlan>(
		trackingPlanKind,
		name,
		namespace,
	);
	return findCondition(plan?.status?.conditions, "Ready");
}

test("an account's slow plans delay neither another's plan nor its Run", async () => {
	await world.apply(neighbour, dailyLoad);
	await vi.waitFor(async () => {
		const { status } = await world.pipelineIn(neighbour);
		expect(status?.phase).toBe("Ready");
	}, wait);
	for (const name of slowPlans) await createPlan(hostile, name, slow);
	await createPlan(neighbour, "orders", { type: "object" });
	const run = newRun("load", { namespace: neighbour, name: "by-hand" });
	await world.client.create(runKind, run);
	await vi.waitFor(
		async () =>
			expect(await readinessOf(neighbour, "orders")).toMatchObject({
				status: "True",
			}),
		wait,
	);
	const validated = await Promise.all(
		slowPlans.map((name) => readinessOf(hostile, name)),
	);
	const unvalidated = validated.filter((ready) => ready === undefined);
	expect(unvalidated.length).toBeGreaterThan(slowPlans.length / 2);
	await world.recorded(neighbour, "by-hand");
});
