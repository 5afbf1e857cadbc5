import { expect, test } from "vitest";
import type { TrackingPlan } from "../../crds/generated/types.ts";
import { inUseFinalizer } from "../../crds/labels.ts";
import { decide } from "./decide.ts";
import type { TrackingPlanState } from "./state.ts";

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

function stateOf(
	plan: TrackingPlan,
	part: Partial<TrackingPlanState> = {},
): TrackingPlanState {
	return { plan, fault: undefined, version: "v1", sources: [], ...part };
}

function statusAfter(plan: TrackingPlan, part?: Partial<TrackingPlanState>) {
	const written = decide(stateOf(plan, part), now).find(
		({ type }) => type === "writeStatus",
	);
	return written?.type === "writeStatus" ? written.status : plan.status;
}

const wrong = {
	fault: {
		reason: "InvalidSchema",
		message: "spec.common is wrong.",
	},
} as const;

test("a valid plan is Ready, and says its version, types and users, once", () => {
	const status = statusAfter(planWith());
	expect(status).toMatchObject({
		observedGeneration: 2,
		eventTypes: 1,
		version: "v1",
		usedBy: 0,
		conditions: [{ type: "Ready", status: "True", reason: "Valid" }],
	});
	expect(decide(stateOf(planWith()), now)[1]).toMatchObject({
		severity: "Normal",
		reason: "Valid",
	});
	expect(decide(stateOf(planWith(status)), now + 60_000)).toEqual([]);
});

test("an invalid plan says why, with one warning for each fault", () => {
	expect(decide(stateOf(planWith(), wrong), now)[1]).toMatchObject({
		severity: "Warning",
		reason: "InvalidSchema",
		message: "spec.common is wrong.",
	});
	const plan = planWith(statusAfter(planWith(), wrong));
	expect(plan.status?.conditions?.[0]?.status).toBe("False");
	expect(decide(stateOf(plan, wrong), now)).toEqual([]);
	const worse = { fault: { ...wrong.fault, message: "All is wrong." } };
	expect(decide(stateOf(plan, worse), now)).toHaveLength(2);
	// An edit that leaves the fault is written down and tells nothing new.
	plan.metadata.generation = 3;
	expect(decide(stateOf(plan, wrong), now).map(({ type }) => type)).toEqual([
		"writeStatus",
	]);
});

test.each([
	["v1", "The last good version, v1, goes on validating."],
	[undefined, "senders to its Sources get 503."],
])(
	"an invalid plan in use whose last good version is %s says what happens to events",
	(version, words) => {
		const status = statusAfter(planWith(), {
			...wrong,
			version,
			sources: ["orders"],
		});
		expect(status?.version).toBe(version);
		expect(status?.conditions?.[0]?.message).toContain(words);
	},
);

test("a plan has a finalizer as long as a Source names it", () => {
	const plan = planWith();
	plan.metadata.finalizers = ["other"];
	expect(decide(stateOf(plan, { sources: ["orders"] }), now)[0]).toEqual({
		type: "setFinalizers",
		finalizers: ["other", inUseFinalizer],
	});
	plan.metadata.finalizers = ["other", inUseFinalizer];
	expect(decide(stateOf(plan), now)[0]).toEqual({
		type: "setFinalizers",
		finalizers: ["other"],
	});
});

test("a plan that is being deleted says which Sources name it, and goes when none does", () => {
	const plan = planWith();
	plan.metadata.deletionTimestamp = "2026-03-10T12:00:00Z";
	plan.metadata.finalizers = [inUseFinalizer];
	const used = { sources: ["orders", "refunds"] };
	expect(statusAfter(plan, used)?.conditions?.[1]).toMatchObject({
		type: "InUse",
		status: "True",
		reason: "NamedBySources",
		message: expect.stringContaining('"orders", "refunds"'),
	});
	expect(decide(stateOf(plan, used), now).at(-1)).toMatchObject({
		severity: "Warning",
		reason: "DeletionWaitsForSources",
	});
	expect(decide(stateOf(plan), now)).toEqual([
		{ type: "setFinalizers", finalizers: [] },
	]);
});

test("a plan that is being deleted and has no finalizer is left alone", () => {
	const plan = planWith();
	plan.metadata.deletionTimestamp = "2026-03-10T12:00:00Z";
	expect(decide(stateOf(plan), now)).toEqual([]);
});
