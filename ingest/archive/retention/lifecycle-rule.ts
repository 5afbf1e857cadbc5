import type { LifecycleRule } from "@aws-sdk/client-s3";
import { keptDays } from "./retention.ts";

/**
 * The bucket's lifecycle rules with ours among them, by which the store removes expired events; undefined if ours is there
 * already. Other rules stay as they are. An object is written on its date or later, so counting from the write never
 * removes it too early; the store counts from the following midnight.
 */
export function withRetentionRule(
	rules: readonly LifecycleRule[],
	eventsPrefix: string,
): LifecycleRule[] | undefined {
	const ID = `tidemill-retention ${eventsPrefix}`;
	const existing = rules.find((rule) => rule.ID === ID);
	if (
		existing?.Status === "Enabled" &&
		existing.Filter?.Prefix === eventsPrefix &&
		existing.Expiration?.Days === keptDays + 1
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
