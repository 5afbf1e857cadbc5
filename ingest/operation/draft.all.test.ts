// In make test: ingest/operation/draft-schema.test.ts
import { expect, test } from "vitest";
import { parse } from "yaml";
import { maxReportBytes } from "../../packages/contracts/manifest.ts";
import type { PlanDocument } from "../../packages/contracts/tracking-plan.ts";
import { compilePlan } from "../../packages/tracking-plan/compile.ts";
import { PlanValidator } from "../../packages/tracking-plan/plan-validator.ts";
import {
	githubPayloads,
	oddities,
} from "../../test/support/examples/github-payloads.ts";
import { PlanDraft } from "./draft.ts";
import type { EventRow } from "./stored-events.ts";

function draftOf(
	eventType: PlanDocument["eventType"],
	events: Partial<EventRow>[],
) {
	const draft = new PlanDraft("shop", eventType);
	for (const event of events)
		draft.take({
			id: "1",
			body: "null",
			headers: {},
			timestampMs: 0,
			validation: undefined,
			...event,
		});
	return draft.result;
}

/** What the drafted plan says about a body. */
function validatorOf(manifest: string) {
	const document: PlanDocument = {
		version: 1,
		account: "shop",
		plan: "shop",
		onUnplannedEvent: "Annotate",
		onViolation: "Annotate",
		onUnplannedProperty: "Annotate",
		...parse(manifest).spec,
	};
	const compiled = compilePlan(document);
	if ("fault" in compiled) throw new Error(compiled.fault);
	return new PlanValidator(document, compiled.code);
}

const constant = { constant: "event" };

test("the draft of GitHub's webhooks compiles, fits a report, and validates each of them as planned", () => {
	const payloads = githubPayloads().map(({ name, value }) => ({
		type: name.replace(/-\d+$/, ""),
		body: JSON.stringify(value),
	}));
	const { events, eventTypes, trackingPlan } = draftOf(
		{ header: "x-github-event" },
		payloads.map(({ type, body }) => ({
			body,
			headers: { "x-github-event": type },
		})),
	);
	expect(events).toBe(payloads.length);
	expect(eventTypes).toBe(new Set(payloads.map(({ type }) => type)).size);
	expect(JSON.stringify(trackingPlan).length).toBeLessThan(maxReportBytes);
	const validator = validatorOf(trackingPlan);
	const deviating = payloads.flatMap(({ type, body }) => {
		const { record } = validator.validate(JSON.parse(body), type);
		return record.violations ? [{ type, ...record.violations[0] }] : [];
	});
	expect(deviating).toEqual([]);
	// It isn't empty either: an event that lacks what all have deviates.
	expect(validator.validate({}, "push").record.violations).not.toEqual([]);
});

test.each<[string, unknown[]]>([
	["oddities of JSON", [oddities, { ...oddities, text: null }]],
	[
		"names that JavaScript knows",
		['{"__proto__":1,"constructor":{"a":1}}'].map((text) => JSON.parse(text)),
	],
	[
		"names that YAML or a pointer reads otherwise",
		[
			{
				"a/b": 1,
				"~": 2,
				"*": 3,
				"- x": 4,
				yes: 5,
				"1e3": 6,
				"": 7,
				"a: b": 8,
			},
		],
	],
	["nothing but a value", [null, 1, "x", [[]], true]],
	["a deep body", [JSON.parse(`${'{"a":['.repeat(60)}1${"]}".repeat(60)}`)]],
	[
		"a broad body",
		[Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`k${i}`, i]))],
	],
	[
		"objects of many names, which few have",
		Array.from({ length: 60 }, (_, i) => ({ [`name ${i}`]: { value: i } })),
	],
])("the draft of %s validates it as planned", (_, values) => {
	const bodies = values.map((value) => JSON.stringify(value));
	const { trackingPlan } = draftOf(
		constant,
		bodies.map((body) => ({ body })),
	);
	const validator = validatorOf(trackingPlan);
	for (const body of bodies)
		expect(
			validator.validate(JSON.parse(body), undefined).record.violations,
		).toBeUndefined();
});

test("a Source that sends ever new types and names costs bounded memory, and its draft is bounded", () => {
	const { eventTypes, trackingPlan } = draftOf(
		{ bodyPointer: "/type" },
		Array.from({ length: 600 }, (_, index) => ({
			body: JSON.stringify({
				type: `type ${index}`,
				...Object.fromEntries(
					Array.from({ length: 30 }, (_, n) => [`name ${index} ${n}`, "x"]),
				),
			}),
		})),
	);
	expect(eventTypes).toBe(500);
	expect(JSON.stringify(trackingPlan).length).toBeLessThan(maxReportBytes);
});
