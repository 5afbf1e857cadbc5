import { expect, test } from "vitest";
import { parse } from "yaml";
import { hostileTexts } from "../../test/support/strangers/hostile-texts.ts";
import { PlanDraft } from "./draft.ts";

test("a draft holds each type and member that a sender has named, for kubectl, too", () => {
	const draft = new PlanDraft("draft", { bodyPointer: "/type" });
	const types = hostileTexts.filter((text) => text !== "");
	for (const type of types)
		draft.take({ body: JSON.stringify({ type, [`m${type}`]: 1 }) } as never);
	const text = draft.result.trackingPlan;
	expect(text.replaceAll(/[\n\t]/g, "")).not.toMatch(/[\p{Cc}\u202e]/u);
	for (const version of ["1.1", "1.2"] as const) {
		const { events } = parse(text, { version }).spec;
		expect(events.map((each: { type: string }) => each.type).sort()).toEqual(
			[...types].sort(),
		);
		for (const { type, schema } of events)
			expect(Object.keys(schema.properties)).toContain(`m${type}`);
	}
});
