import { expect, test } from "vitest";
import type { Source, TrackingPlan } from "../../crds/generated/types.ts";
import { planFindingOf } from "./plan-condition.ts";
import type { SourceState } from "./state.ts";

const now = Date.parse("2026-03-10T12:00:00Z");

function stateWith(
	version: string | undefined,
	trackingPlan?: Partial<TrackingPlan["metadata"]> & {
		ready?: "True" | "False";
		version?: string;
	},
): SourceState {
	const { ready, version: now, ...metadata } = trackingPlan ?? {};
	const source = {
		metadata: { name: "orders", namespace: "shop", generation: 3 },
	} as Source;
	const plan = {
		metadata: { name: "plan", generation: 2, ...metadata },
		status: {
			observedGeneration: 2,
			version: now,
			conditions: ready && [{ type: "Ready", status: ready }],
		},
	} as unknown as TrackingPlan;
	return {
		source,
		plan: { name: "plan", ...(version && { version }) },
		trackingPlan: trackingPlan && plan,
	} as SourceState;
}

const deletionTimestamp = "2026-03-10T12:00:00Z";

test.each([
	["Current", "True", stateWith("v2", { ready: "True", version: "v2" })],
	["PlanPending", "Unknown", stateWith("v1", { ready: "True", version: "v2" })],
	["PlanPending", "Unknown", stateWith("v1", { ready: "True", generation: 3 })],
	["PlanInvalid", "False", stateWith("v1", { ready: "False" })],
	["PlanNotFound", "False", stateWith("v1")],
	[
		"PlanDeleting",
		"False",
		stateWith("v1", { ready: "True", version: "v1", deletionTimestamp }),
	],
])("%s is %s", (reason, status, state) => {
	expect(planFindingOf(state, now)).toMatchObject({
		reason,
		status,
	});
});

test("a plan that is missing or broken says which version goes on validating", () => {
	for (const trackingPlan of [undefined, { ready: "False" } as const])
		expect(
			planFindingOf(stateWith("v1", trackingPlan), now)?.message,
		).toContain("The last good version, v1, goes on validating.");
	expect(planFindingOf(stateWith(undefined), now)?.message).not.toContain(
		"goes on",
	);
});

test("a Source that names no plan has no finding about one", () => {
	expect(
		planFindingOf({ ...stateWith("v1"), plan: undefined }, now),
	).toBeUndefined();
});
