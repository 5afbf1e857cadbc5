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

test("withRetentionRule adds a rule that removes events after 32 days, and keeps the other rules", () => {
	const rules = withRetentionRule(others, "p/events/")!;
	expect(rules.slice(0, 2)).toEqual(others);
	expect(rules.slice(2)).toMatchObject([
		{ Filter: { Prefix: "p/events/" }, Expiration: { Days: 32 } },
	]);
});

test("nothing is written if the rule exists", () => {
	const rules = withRetentionRule(others, "p/events/")!;
	expect(withRetentionRule(rules, "p/events/")).toBeUndefined();
});

test("our rule is restored after a change; a rule of another prefix isn't ours", () => {
	const rules = withRetentionRule(others, "p/events/")!;
	const changed = rules.with(2, { ...rules[2]!, Expiration: { Days: 3 } });
	expect(withRetentionRule(changed, "p/events/")).toEqual(rules);
	expect(withRetentionRule(rules, "q/events/")).toHaveLength(4);
});
