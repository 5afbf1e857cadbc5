import type { LifecycleRule } from "@aws-sdk/client-s3";
import { keptDays } from "./retention.ts";

/**
 * The bucket's lifecycle rules with ours among them, which has the store remove events in time; undefined when they say
 * so already. Rules of others stay as they are. An object is written on its date or later, so counting from then never
 * removes one too early; the store counts from the midnight after.
 */
export function withRetentionRule(
	rules: readonly LifecycleRule[],
	eventsPrefix: string,
): LifecycleRule[] | undefined {
	const ID = `tidemill-retention ${eventsPrefix}`;
	const standing = rules.find((rule) => rule.ID === ID);
	if (
		standing?.Status === "Enabled" &&
		standing.Filter?.Prefix === eventsPrefix &&
		standing.Expiration?.Days === keptDays + 1
	)
		return undefined;
	const ours: LifecycleRule = {
		ID,
		Status: "Enabled",
		Filter: { Prefix: eventsPrefix },
		Expiration: { Days: keptDays + 1 },
	};
	return [...rules.filter((rule) => rule.ID !== ID), ours];
}
