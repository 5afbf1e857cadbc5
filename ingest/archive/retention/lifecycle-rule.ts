import type { LifecycleRule } from "@aws-sdk/client-s3";
import { keptDays } from "./retention.ts";

/**
 * The bucket's lifecycle rules with ours among them, one for each prefix, by which the store removes expired events;
 * undefined if ours are there already. Other rules stay as they are. An object is written on its date or later, so counting
 * from the write never removes it too early; the store counts from the following midnight.
 */
export function withRetentionRules(
	rules: readonly LifecycleRule[],
	prefixes: readonly string[],
): LifecycleRule[] | undefined {
	let changed: LifecycleRule[] | undefined;
	for (const prefix of prefixes)
		changed = withRule(changed ?? rules, prefix) ?? changed;
	return changed;
}

function withRule(
	rules: readonly LifecycleRule[],
	prefix: string,
): LifecycleRule[] | undefined {
	const ID = `tidemill-retention ${prefix}`;
	const existing = rules.find((rule) => rule.ID === ID);
	if (
		existing?.Status === "Enabled" &&
		existing.Filter?.Prefix === prefix &&
		existing.Expiration?.Days === keptDays + 1
	)
		return undefined;
	const ours: LifecycleRule = {
		ID,
		Status: "Enabled",
		Filter: { Prefix: prefix },
		Expiration: { Days: keptDays + 1 },
	};
	return [...rules.filter((rule) => rule.ID !== ID), ours];
}
