import { expect, test } from "vitest";
import type { PipelineFilter } from "../../crds/generated/types.ts";
import {
	layout,
	pipelineOf,
	sourceOf,
} from "../../test/support/examples/resource-examples.ts";
import { choiceDigest, filterOf } from "./filter.ts";
import { isSameLayout } from "./plan-dates.ts";
import type { PipelineReferences } from "./state.ts";

function filteredBy(
	filter: PipelineFilter,
	trackingPlan?: PipelineReferences["trackingPlan"],
	plan?: string,
) {
	const source = sourceOf();
	if (plan !== undefined)
		source.spec.webhook = {
			...source.spec.webhook!,
			trackingPlanRef: { name: plan },
		};
	return filterOf({ pipeline: pipelineOf({ filter }), source, trackingPlan });
}

const byHeader = { eventType: { header: "x-topic" }, events: [] };

test("without a filter, all events are loaded", () => {
	expect(
		filterOf({
			pipeline: pipelineOf(),
			source: sourceOf(),
			trackingPlan: undefined,
		}),
	).toEqual({ filter: undefined });
});

test("types stand where the filter says, or else where the Source's plan finds them", () => {
	const match = { bodyPointer: "/a", equals: "b" };
	expect(
		filteredBy({ types: ["b", "a"], eventType: { bodyPointer: "/t" }, match }),
	).toEqual({
		filter: {
			types: { oneOf: ["a", "b"], place: { bodyPointer: "/t" } },
			match,
		},
	});
	expect(
		filteredBy({ types: ["a"], eventType: { header: "x-event" } }),
	).toEqual({
		filter: { types: { oneOf: ["a"], place: { header: "x-event" } } },
	});
	// No Source captures it, but the plan records the type.
	for (const eventType of [undefined, { header: "x-topic" }])
		expect(
			filteredBy(
				{ types: ["a"], ...(eventType && { eventType }) },
				byHeader,
				"plan",
			),
		).toEqual({
			filter: { types: { oneOf: ["a"], place: { header: "x-topic" } } },
		});
	expect(filteredBy({ match })).toEqual({ filter: { match } });
});

test.each<[string, ReturnType<typeof filteredBy>, string, boolean]>([
	[
		"without a plan",
		filteredBy({ types: ["a"] }),
		'spec.filter has types, and Source "orders" has no TrackingPlan that says where an event\'s type is. Set spec.filter.eventType.',
		false,
	],
	[
		"while the plan doesn't exist yet",
		filteredBy({ types: ["a"] }, undefined, "plan"),
		'spec.filter has types, and there is no TrackingPlan "plan", which would say where an event\'s type is. Set spec.filter.eventType.',
		true,
	],
	[
		"while the plan can't be read",
		filteredBy({ types: ["a"] }, { fault: "It is in no ConfigMap." }, "plan"),
		'spec.filter has types, and TrackingPlan "plan" can\'t be read: It is in no ConfigMap. Set spec.filter.eventType.',
		false,
	],
	[
		"in a header that the Source doesn't capture",
		filteredBy({ types: ["a"], eventType: { header: "x-topic" } }),
		'spec.filter.eventType.header is "x-topic", which Source "orders" doesn\'t store. Add it to that Source\'s spec.webhook.capturedHeaders.',
		false,
	],
])(
	"types %s are a problem that says what to do",
	(_, found, problem, isPlanMissing) => {
		expect(found).toEqual({ problem, isPlanMissing });
	},
);

test("the order of types is no other layout, and another type, place or value is one", () => {
	const layoutOf = (filter: PipelineFilter) => {
		const found = filteredBy(filter);
		if ("problem" in found) throw new Error(found.problem);
		return { ...layout, filter: choiceDigest(found.filter!) };
	};
	const eventType = { bodyPointer: "/t" };
	const one = layoutOf({ types: ["a", "b"], eventType });
	expect(one.filter).toMatch(/^[0-9a-f]{16}$/);
	expect(isSameLayout(one, layoutOf({ types: ["b", "a"], eventType }))).toBe(
		true,
	);
	for (const other of [
		layout,
		layoutOf({ types: ["a"], eventType }),
		layoutOf({ types: ["a", "b"], eventType: { bodyPointer: "/u" } }),
		layoutOf({
			types: ["a", "b"],
			eventType,
			match: { bodyPointer: "/t", equals: "a" },
		}),
	])
		expect(isSameLayout(one, other)).toBe(false);
});
