import type { LifecycleRule } from "@aws-sdk/client-s3";
import { expect, test } from "vitest";
import { withRetentionRules } from "./lifecycle-rule.ts";

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

const prefixes = ["p/events/", "p/quarantine/"];

test("withRetentionRules adds a rule for each prefix that removes events after 32 days, and keeps the other rules", () => {
	const rules = withRetentionRules(others, prefixes)!;
	expect(rules.slice(0, 2)).toEqual(others);
	expect(rules.slice(2)).toMatchObject([
		{ Filter: { Prefix: "p/events/" }, Expiration: { Days: 32 } },
		{ Filter: { Prefix: "p/quarantine/" }, Expiration: { Days: 32 } },
	]);
});

test("nothing is written if the rules exist", () => {
	const rules = withRetentionRules(others, prefixes)!;
	expect(withRetentionRules(rules, prefixes)).toBeUndefined();
});

test("our rule is restored after a change; a rule of another prefix isn't ours", () => {
	const rules = withRetentionRules(others, prefixes)!;
	const changed = rules.with(3, { ...rules[3]!, Expiration: { Days: 3 } });
	expect(withRetentionRules(changed, prefixes)).toEqual(rules);
	expect(withRetentionRules(rules, ["q/events/"])).toHaveLength(5);
});
