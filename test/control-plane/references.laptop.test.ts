import { expect, test, vi } from "vitest";
import {
	destinationKind,
	type Pipeline,
	pipelineKind,
	sourceKind,
	trackingPlanKind,
} from "../../crds/generated/types.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import {
	client,
	RunScene,
	wait,
} from "../support/fixtures/control-plane/run-scene.ts";

const scene = RunScene.use();

/** Waits until the Pipeline's Ready is like this: status, reason, phase. */
function isReady(name: string, ...expected: string[]): Promise<void> {
	return vi.waitFor(async () => {
		const { namespace } = scene;
		const pipeline = await client.get<Pipeline>(pipelineKind, name, namespace);
		const { conditions, phase } = pipeline?.status ?? {};
		const ready = findCondition(conditions, "Ready");
		expect([ready?.status, ready?.reason, phase]).toEqual(expected);
	}, wait);
}

async function warningsOf(name: string): Promise<string[]> {
	const { items } = await client.list(kinds.kubeEvent, {
		namespace: scene.namespace,
	});
	return items
		.filter(
			({ regarding, type }) => regarding?.name === name && type === "Warning",
		)
		.map(({ reason }) => reason!);
}

test("a Pipeline created before its Source and Destination becomes Ready with them, without a warning", async () => {
	await scene.createPipeline("early", {
		sourceRef: { name: "late" },
		destinationRef: { name: "later" },
	});
	await isReady("early", "Unknown", "SourceNotFound", "Pending");
	await scene.createSource("late");
	await isReady("early", "Unknown", "DestinationNotFound", "Pending");
	await scene.createDestination("later");
	await isReady("early", "True", "Resolved", "Ready");
	expect(await warningsOf("early")).toEqual([]);
});

test.each([
	["Source", sourceKind, "orders"],
	["Destination", destinationKind, "files"],
] as const)(
	"a %s that vanishes is missed, and found when it is back",
	async (kind, { plural }, name) => {
		await scene.createPipeline("p");
		await isReady("p", "True", "Resolved", "Ready");
		const path = `/apis/tidemill.dev/v1alpha1/namespaces/${scene.namespace}/${plural}/${name}`;
		await client.raw("DELETE", path);
		await isReady("p", "Unknown", `${kind}NotFound`, "Pending");
		if (kind === "Source") {
			await client.delete(kinds.secret, "orders-webhook-url", scene.namespace);
			await scene.createSource(name);
		} else await scene.createDestination(name);
		await isReady("p", "True", "Resolved", "Ready");
	},
);

test("a column without a type has the one that the Source's TrackingPlan says, as soon as it says it", async () => {
	const named = <T extends object>(name: string, rest: T) => ({
		metadata: { namespace: scene.namespace, name },
		...rest,
	});
	const by = { fieldManager: "test" };
	const plan = (total: object) => {
		const eventType = { constant: "order" };
		const spec = { eventType, common: { properties: { total } } };
		return client.apply(trackingPlanKind, named("planned", { spec }), by);
	};
	const webhook = {
		capturedHeaders: ["x-event"],
		trackingPlanRef: { name: "planned" },
	};
	const spec = { type: "Webhook", webhook };
	await client.apply(sourceKind, named("orders", { spec }), by);
	const table = { bodyColumns: [{ name: "total", bodyPointer: "/total" }] };
	await scene.createPipeline("p", { table } as Partial<Pipeline["spec"]>);
	await isReady("p", "Unknown", "ColumnTypeUnknown", "Pending");
	await plan({ type: ["number", "string"] });
	await isReady("p", "False", "ColumnTypeUnknown", "Error");
	await plan({ type: "number" });
	await isReady("p", "True", "Resolved", "Ready");
	await plan({ type: ["number", "string"] });
	await isReady("p", "False", "ColumnTypeUnknown", "Error");
	// Nothing says a type, so it is text.
	await plan({});
	await isReady("p", "True", "Resolved", "Ready");
});

test("a filter by types waits until the Source's TrackingPlan says where they are", async () => {
	const named = <T extends object>(name: string, rest: T) => ({
		metadata: { namespace: scene.namespace, name },
		...rest,
	});
	const by = { fieldManager: "test" };
	const plan = (eventType: object) =>
		client.apply(trackingPlanKind, named("typed", { spec: { eventType } }), by);
	const webhook = { trackingPlanRef: { name: "typed" } };
	const spec = { type: "Webhook", webhook };
	await client.apply(sourceKind, named("orders", { spec }), by);
	await scene.createPipeline("p", {
		filter: { types: ["order.paid"] },
	} as Partial<Pipeline["spec"]>);
	await isReady("p", "Unknown", "EventTypeUnknown", "Pending");
	await plan({ bodyPointer: "/type" });
	await isReady("p", "True", "Resolved", "Ready");
});

test("of two Pipelines into one table the younger waits, until the older is gone", async () => {
	const table = {
		columns: ["Body"],
		name: "shared",
		onIncompatible: "Fail",
	} as const;
	const spec = { table: { ...table, columns: [...table.columns] } };
	await scene.createPipeline("a-first", spec);
	await isReady("a-first", "True", "Resolved", "Ready");
	await scene.createPipeline("b-second", spec);
	await isReady("b-second", "False", "TableConflict", "Error");
	await client.delete(pipelineKind, "a-first", scene.namespace);
	await isReady("b-second", "True", "Resolved", "Ready");
});
