import { expect, test } from "vitest";
import type { TrackingPlan } from "../../crds/generated/types.ts";
import { decide } from "./decide.ts";

const now = Date.parse("2026-03-10T12:00:00Z");

function planWith(status?: TrackingPlan["status"]): TrackingPlan {
	return {
		apiVersion: "tidemill.dev/v1alpha1",
		kind: "TrackingPlan",
		metadata: { name: "orders", namespace: "shop", generation: 2 },
		spec: {
			eventType: { constant: "order" },
			events: [{ type: "order" }],
			onUnplannedEvent: "Annotate",
			onViolation: "Annotate",
			onUnplannedProperty: "Annotate",
		},
		...(status && { status }),
	};
}

function statusAfter(plan: TrackingPlan, fault?: string) {
	const [action] = decide(plan, fault, now);
	return action?.type === "writeStatus" ? action.status : plan.status;
}

test("a valid plan is Ready and counts its types, once", () => {
	const status = statusAfter(planWith());
	expect(status).toMatchObject({
		observedGeneration: 2,
		eventTypes: 1,
		conditions: [{ type: "Ready", status: "True", reason: "Valid" }],
	});
	expect(decide(planWith(), undefined, now)[1]).toMatchObject({
		severity: "Normal",
		reason: "Valid",
	});
	expect(decide(planWith(status), undefined, now + 60_000)).toEqual([]);
});

test("an invalid plan says why, with one warning for each fault", () => {
	const actions = decide(planWith(), "spec.common is wrong.", now);
	expect(actions[1]).toMatchObject({
		severity: "Warning",
		reason: "InvalidSchema",
		message: "spec.common is wrong.",
	});
	const plan = planWith(statusAfter(planWith(), "spec.common is wrong."));
	expect(plan.status?.conditions?.[0]?.status).toBe("False");
	expect(decide(plan, "spec.common is wrong.", now)).toEqual([]);
	expect(decide(plan, "spec.common is wrong as well.", now)).toHaveLength(2);
	// An edit that leaves the fault is written down and tells nothing new.
	plan.metadata.generation = 3;
	expect(
		decide(plan, "spec.common is wrong.", now).map(({ type }) => type),
	).toEqual(["writeStatus"]);
});

test("a plan that is being deleted is left alone", () => {
	const plan = planWith();
	plan.metadata.deletionTimestamp = "2026-03-10T12:00:00Z";
	expect(decide(plan, undefined, now)).toEqual([]);
});
