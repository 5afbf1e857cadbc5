import { expect, test } from "vitest";
import type { Pipeline } from "../../crds/generated/types.ts";
import type { ConditionStatus } from "../../packages/kube/conditions.ts";
import { requireReady } from "./runs.ts";

function pipeline(
	status: ConditionStatus,
	reason: string,
	observedGeneration = 2,
): Pipeline {
	const condition = {
		type: "Ready",
		status,
		reason,
		message: "Why.",
		observedGeneration,
		lastTransitionTime: "2026-01-01T00:00:00Z",
	};
	return {
		metadata: { name: "orders", generation: 2 },
		status: { conditions: [condition] },
	} as Pipeline;
}

test("a run of a pipeline that can't run is refused with the pipeline's reason", () => {
	expect(() => requireReady(pipeline("False", "DestinationNotReady"))).toThrow(
		expect.objectContaining({
			status: 409,
			code: "PipelineNotReady",
			message:
				'The pipeline "orders" can\'t run (DestinationNotReady): Why. Correct that first, or let the run wait for that (in REST, ?queue=true).',
		}),
	);
});

test.each([
	["is ready", pipeline("True", "Resolved")],
	["is new", { metadata: { name: "orders", generation: 1 } } as Pipeline],
	["is being checked", pipeline("Unknown", "DestinationNotReady")],
	["was changed and not checked since", pipeline("False", "SourceNotFound", 1)],
	["has an invalid schedule", pipeline("False", "InvalidSchedule")],
	["has an unknown time zone", pipeline("False", "InvalidTimeZone")],
	["had a table that did not fit", pipeline("False", "TableIncompatible")],
	["found a table of somebody else", pipeline("False", "TableNotOurs")],
	[
		"would load too often by its schedule",
		pipeline("False", "TooManyLoadJobs"),
	],
])("a pipeline that %s can be run", (_, given) => {
	expect(() => requireReady(given)).not.toThrow();
});
