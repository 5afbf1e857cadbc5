import type { LifecycleRule } from "@aws-sdk/client-s3";
import { expect, test } from "vitest";
import { withRetentionRule } from "./lifecycle-rule.ts";

const others: LifecycleRule[] = [
	{
		ID: "logs",
		Status: "Enabled",
		Filter: { Prefix: "logs/" },
		Expiration: { Days: 7 },
	},
	{
		Status: "Disabled",
		Filter: {},
		AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 },
	},
];

test("a rule is added that removes events after 32 days, and the others stay", () => {
	const rules = withRetentionRule(others, "p/events/")!;
	expect(rules.slice(0, 2)).toEqual(others);
	expect(rules.slice(2)).toMatchObject([
		{ Filter: { Prefix: "p/events/" }, Expiration: { Days: 32 } },
	]);
});

test("nothing is written when the rule is there", () => {
	const rules = withRetentionRule(others, "p/events/")!;
	expect(withRetentionRule(rules, "p/events/")).toBeUndefined();
});

test("a rule of ours that was changed is put right; one of another prefix is not ours", () => {
	const rules = withRetentionRule(others, "p/events/")!;
	const changed = rules.with(2, { ...rules[2]!, Expiration: { Days: 3 } });
	expect(withRetentionRule(changed, "p/events/")).toEqual(rules);
	expect(withRetentionRule(rules, "q/events/")).toHaveLength(4);
});
