import { expect, test } from "vitest";
import type { Operation, TrackingPlan } from "../../crds/generated/types.ts";
import { label } from "../../crds/labels.ts";
import type { ConfigMap } from "../../packages/kube/kinds.ts";
import { createLog } from "../../packages/service/log.ts";
import { listedClient } from "../../test/support/doubles/kubernetes/listed-client.ts";
import { documentOf } from "../tracking-plan/document.ts";
import { createInformers } from "./informers.ts";

const log = createLog("test");
const metadata = (name: string, labels = {}) => ({
	...{ name, namespace: "shop", uid: name, resourceVersion: "1", labels },
});
const configMap = (name: string, schema: string): ConfigMap => ({
	metadata: metadata(name, { [label.use]: "true" }),
	data: { schema, other: "x".repeat(500_000) },
});
const from = (name: string) => ({ configMapKeyRef: { name, key: "schema" } });
const plan = (name: string, spec: object) =>
	({
		metadata: metadata(name),
		spec: { eventType: { constant: "a" }, onViolation: "Reject", ...spec },
	}) as unknown as TrackingPlan;

async function informersWith(
	trackingplans: TrackingPlan[],
	configmaps: ConfigMap[],
	operations: Operation[] = [],
) {
	const client = Object.assign(
		listedClient({ trackingplans, configmaps, operations }),
		{
			get: async (_: unknown, name: string) =>
				trackingplans.find(({ metadata }) => metadata.name === name),
		},
	);
	const informers = createInformers(client, { namespaces: undefined, log });
	const stop = new AbortController();
	const running = Object.values(informers).map((each) => each.run(stop.signal));
	await Promise.all(Object.values(informers).map(({ synced }) => synced));
	stop.abort();
	await Promise.all(running);
	return informers;
}

test("of a ConfigMap the key is held that a plan names, or one that an open Operation tries", async () => {
	const tried = (name: string, status: object) =>
		({
			metadata: metadata(name),
			spec: {
				...{ type: "DryRun", sourceRef: { name: "orders" } },
				plan: { inline: plan("inline", { commonFrom: from(name) }).spec },
			},
			status,
		}) as unknown as Operation;
	const { configMaps } = await informersWith(
		[plan("p", { events: [{ type: "a", schemaFrom: from("named") }] })],
		["named", "tried", "ended", "unnamed"].map((name) => configMap(name, "{}")),
		[
			tried("tried", { phase: "Pending" }),
			tried("ended", {
				phase: "Succeeded",
				completionTime: "2026-03-01T00:00:00Z",
			}),
		],
	);
	const held = configMaps
		.list()
		.map(({ metadata, data }) => [metadata.name, data]);
	expect(Object.fromEntries(held)).toEqual({
		named: { schema: "{}" },
		tried: { schema: "{}" },
		ended: undefined,
		unnamed: undefined,
	});
});

test.each(["common", "commonFrom"])(
	"the schemas in %s of a namespace's plans have so much room together, and a plan beyond it says so",
	async (field) => {
		const names = Array.from({ length: 10 }, (_, index) => `plan-${index}`);
		const schema = { description: "x".repeat(1_000_000) };
		const plans = names.map((name) =>
			plan(name, { [field]: field === "common" ? schema : from(name) }),
		);
		const maps = names.map((name) => configMap(name, JSON.stringify(schema)));
		const { trackingPlans, configMaps } = await informersWith(plans, maps);
		const read = names.map((name) =>
			documentOf(trackingPlans.get("shop", name)!, (name) =>
				configMaps.get("shop", name),
			),
		);
		const faults = read.flatMap((each) => ("fault" in each ? each.fault : []));
		// 8 Mi of characters.
		expect(faults).toHaveLength(2);
		expect(faults[0]).toMatchObject({
			reason: "PlanTooLarge",
			message: expect.stringContaining("8388608 is the most"),
		});
		expect(read).toContainEqual({
			document: expect.objectContaining({ common: schema }),
		});
	},
);
