import { expect, test } from "vitest";
import type { TrackingPlan } from "../../crds/generated/types.ts";
import { label } from "../../crds/labels.ts";
import type { ConfigMap } from "../../packages/kube/kinds.ts";
import { documentOf } from "./document.ts";
import { memoryFault } from "./state.ts";

const plan: TrackingPlan = {
	apiVersion: "tidemill.dev/v1alpha1",
	kind: "TrackingPlan",
	metadata: { name: "orders", namespace: "shop" },
	spec: {
		eventType: { bodyPointer: "/type" },
		events: [
			{
				type: "order",
				description: "Somebody bought something.",
				schemaFrom: {
					configMapKeyRef: { name: "schemas", key: "order.json" },
				},
			},
		],
		onUnplannedEvent: "Annotate",
		onViolation: "Annotate",
		onUnplannedProperty: "Annotate",
	},
};

function configMap(
	text: string,
	labels: Record<string, string> = { [label.use]: "true" },
): ConfigMap {
	return {
		metadata: { name: "schemas", labels },
		data: { "order.json": text },
	};
}

test("a schema comes from its ConfigMap", () => {
	expect(documentOf(plan, () => configMap('{"type":"object"}'))).toEqual({
		document: {
			version: 1,
			account: "shop",
			plan: "orders",
			eventType: { bodyPointer: "/type" },
			events: [{ type: "order", schema: { type: "object" } }],
			onUnplannedEvent: "Annotate",
			onViolation: "Annotate",
			onUnplannedProperty: "Annotate",
		},
	});
});

test.each<[string, ConfigMap | undefined, string, string]>([
	[
		"is missing",
		undefined,
		"ConfigMapNotFound",
		'There is no ConfigMap "schemas" in namespace "shop", which spec.events[0].schemaFrom',
	],
	[
		"has no label",
		configMap("{}", {}),
		"ConfigMapNotLabelled",
		"kubectl label configmap schemas tidemill.dev/use=true -n shop",
	],
	[
		"has no such key",
		{ metadata: configMap("").metadata },
		"ConfigMapKeyNotFound",
		'no key "order.json"',
	],
	["is not JSON", configMap("type: object"), "InvalidSchema", "is not JSON: "],
	["is no schema", configMap("[]"), "InvalidSchema", "must be a JSON object"],
])(
	"a ConfigMap that %s is a fault that says what to do",
	(_, found, reason, words) => {
		expect(documentOf(plan, () => found)).toEqual({
			fault: { reason, message: expect.stringContaining(words) },
		});
	},
);

test("a plan, and all plans of an account, have a limit", () => {
	const mebi = 1024 ** 2;
	expect(memoryFault(16 * mebi, 8 * mebi)).toBeUndefined();
	expect(memoryFault(16 * mebi + 1, 0)?.message).toContain("16.0 MiB is the");
	expect(memoryFault(mebi, 23 * mebi + 1)?.message).toContain("other plans");
});
