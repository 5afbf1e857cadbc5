import type { LifecycleRule } from "@aws-sdk/client-s3";
import { expect, test } from "vitest";
import { blockingRule, withRetentionRules } from "./lifecycle-rule.ts";

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
	const rules = withRetentionRules(others, prefixes, 30)!;
	expect(rules.slice(0, 2)).toEqual(others);
	expect(rules.slice(2)).toMatchObject([
		{ Filter: { Prefix: "p/events/" }, Expiration: { Days: 32 } },
		{ Filter: { Prefix: "p/quarantine/" }, Expiration: { Days: 32 } },
	]);
});

test("nothing is written if the rules exist", () => {
	const rules = withRetentionRules(others, prefixes, 30)!;
	expect(withRetentionRules(rules, prefixes, 30)).toBeUndefined();
});

test("our rule is restored after a change; a rule of another prefix isn't ours", () => {
	const rules = withRetentionRules(others, prefixes, 30)!;
	const changed = rules.with(3, { ...rules[3]!, Expiration: { Days: 3 } });
	expect(withRetentionRules(changed, prefixes, 30)).toEqual(rules);
	expect(withRetentionRules(rules, ["q/events/"], 30)).toHaveLength(5);
});

test("the rules stand at the longest retention, and go where events stay forever", () => {
	const rules = withRetentionRules(others, prefixes, 30)!;
	const longer = withRetentionRules(rules, prefixes, 400)!;
	expect(longer.slice(2)).toMatchObject([
		{ Filter: { Prefix: "p/events/" }, Expiration: { Days: 402 } },
		{ Filter: { Prefix: "p/quarantine/" }, Expiration: { Days: 402 } },
	]);
	expect(withRetentionRules(longer, prefixes, 0)).toEqual(others);
	expect(withRetentionRules(others, prefixes, 0)).toBeUndefined();
});

const day = new Date(0);

function moving(StorageClass: string, Days: number) {
	const Transitions = [{ StorageClass, Days }];
	return { Filter: {}, Expiration: undefined, Transitions };
}

test.each([
	["of the whole bucket", { Filter: {}, Expiration: { Days: 90 } }, 400, true],
	["of a folder of ours", { Prefix: "p/events/account=a" }, 400, true],
	["of a folder around ours", { Filter: { Prefix: "p/" } }, 0, true],
	["of another folder", { Filter: { Prefix: "logs/" } }, 400, false],
	["that is longer", { Filter: {}, Expiration: { Days: 402 } }, 400, false],
	["that is disabled", { Status: "Disabled" as const, Filter: {} }, 400, false],
	["by a tag", { Filter: { Tag: { Key: "a", Value: "b" } } }, 400, false],
	["that removes nothing", { Filter: {}, Expiration: undefined }, 400, false],
	["with a day of its own", { Filter: {}, Expiration: { Date: day } }, 0, true],
	["that moves events to a glacier", moving("GLACIER", 90), 400, true],
	["that moves them later", moving("DEEP_ARCHIVE", 402), 400, false],
	["that makes them cheaper", moving("GLACIER_IR", 90), 400, false],
])("whether a rule %s takes events away early", (_, change, days, expected) => {
	const rule = {
		Status: "Enabled" as const,
		Expiration: { Days: 90 },
		...change,
	} as LifecycleRule;
	expect(blockingRule([...others, rule], prefixes, days)).toBe(
		expected ? rule : undefined,
	);
});
