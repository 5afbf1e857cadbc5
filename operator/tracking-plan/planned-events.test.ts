import { expect, test, vi } from "vitest";
import type { TrackingPlan } from "../../crds/generated/types.ts";
import type { ConfigMap } from "../../packages/kube/kinds.ts";
import type { Informers } from "../reconcile/informers.ts";
import { plannedEvents } from "./document.ts";

const key = { namespace: "shop", name: "orders" };
const label = { "tidemill.dev/use": "true" };

function configMap(schema: string, labels: object = label): ConfigMap {
	return {
		metadata: { namespace: "shop", name: "schemas", labels: { ...labels } },
		data: { "order.json": schema },
	};
}

function planOf(): TrackingPlan {
	return {
		apiVersion: "tidemill.dev/v1alpha1",
		kind: "TrackingPlan",
		metadata: { namespace: "shop", name: "orders" },
		spec: {
			eventType: { constant: "order" },
			commonFrom: { configMapKeyRef: { name: "schemas", key: "order.json" } },
			onUnplannedEvent: "Annotate",
			onViolation: "Annotate",
			onUnplannedProperty: "Annotate",
		},
	};
}

/** What the operator watches, one object of each kind. */
function watched(now: { plan: TrackingPlan | undefined; map: ConfigMap }) {
	return {
		trackingPlans: { get: () => now.plan },
		configMaps: { get: () => now.map },
	} as unknown as Informers;
}

test("a plan's schemas are read once for each of its versions and of its ConfigMaps'", () => {
	const now = {
		plan: planOf() as TrackingPlan | undefined,
		map: configMap("{}"),
	};
	const parse = vi.spyOn(JSON, "parse");
	const read = () => plannedEvents(watched(now), key);
	expect(read()).toMatchObject({ common: {}, events: [] });
	for (let times = 0; times < 100; times++) read();
	expect(parse).toHaveBeenCalledTimes(1);
	now.map = configMap('{"type":"object"}');
	expect(read()).toMatchObject({ common: { type: "object" } });
	now.plan = {
		...planOf(),
		spec: { ...planOf().spec, events: [{ type: "a" }] },
	};
	expect(read()).toMatchObject({ events: [{ type: "a" }] });
	expect(parse).toHaveBeenCalledTimes(3);
	parse.mockRestore();
});

test("a plan that can't be read says why, and one that isn't there says nothing", () => {
	const now = {
		plan: planOf() as TrackingPlan | undefined,
		map: configMap("{}", {}),
	};
	expect(plannedEvents(watched(now), key)).toEqual({
		fault: expect.stringMatching(/^ConfigMap "schemas" lacks the label/),
	});
	now.plan = undefined;
	expect(plannedEvents(watched(now), key)).toBeUndefined();
});
