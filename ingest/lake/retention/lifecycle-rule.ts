import type { LifecycleExpiration, LifecycleRule } from "@aws-sdk/client-s3";
import { forever } from "../../../packages/contracts/retention.ts";

/**
 * The bucket's lifecycle rules with ours among them, one for each prefix, by which the store removes expired events;
 * undefined if ours are there already. Other rules stay as they are. An object is written on its date or later, so counting
 * from the write never removes it too early; the store counts from the following midnight.
 * @param days The longest time for which any source's events stay, since the shortest rule wins. Without an end, there are no
 * rules of ours.
 */
export function withRetentionRules(
	rules: readonly LifecycleRule[],
	prefixes: readonly string[],
	days: number,
): LifecycleRule[] | undefined {
	let changed: LifecycleRule[] | undefined;
	for (const prefix of prefixes)
		changed = withRule(changed ?? rules, prefix, days) ?? changed;
	return changed;
}

/** A day for Runs that began yesterday, and one for the midnight from which the store counts. */
const graceDays = 2;

/** Links to objects of these classes don't work until somebody restores the objects (AWS, "Understanding archived objects"). */
const archived: readonly unknown[] = ["GLACIER", "DEEP_ARCHIVE"];

/**
 * The enabled rule that removes what begins with one of the prefixes before `days` are over, or moves it to where it can't be
 * read at once; undefined if there is none.
 */
export function blockingRule(
	rules: readonly LifecycleRule[],
	prefixes: readonly string[],
	days: number,
): LifecycleRule | undefined {
	const isTooSoon = (due: Pick<LifecycleExpiration, "Days" | "Date">) =>
		due.Date !== undefined ||
		(due.Days !== undefined &&
			(days === forever || due.Days < days + graceDays));
	return rules.find((rule) => {
		const { Status, Expiration, Transitions = [], Filter, Prefix } = rule;
		if (Status !== "Enabled") return false;
		const blocks =
			(Expiration && isTooSoon(Expiration)) ||
			Transitions.some(
				(move) => archived.includes(move.StorageClass) && isTooSoon(move),
			);
		// By tag or size: nothing of ours has a tag, and sizes say nothing.
		if (!blocks || (Filter?.Tag ?? Filter?.And?.Tags)) return false;
		const begins = Filter?.Prefix ?? Filter?.And?.Prefix ?? Prefix ?? "";
		return prefixes.some(
			(prefix) => prefix.startsWith(begins) || begins.startsWith(prefix),
		);
	});
}

function withRule(
	rules: readonly LifecycleRule[],
	prefix: string,
	days: number,
): LifecycleRule[] | undefined {
	const ID = `tidemill-retention ${prefix}`;
	const existing = rules.find((rule) => rule.ID === ID);
	const others = rules.filter((rule) => rule.ID !== ID);
	if (days === forever) return existing && others;
	const Days = days + graceDays;
	if (
		existing?.Status === "Enabled" &&
		existing.Filter?.Prefix === prefix &&
		existing.Expiration?.Days === Days
	)
		return undefined;
	const ours: LifecycleRule = {
		ID,
		Status: "Enabled",
		Filter: { Prefix: prefix },
		Expiration: { Days },
	};
	return [...others, ours];
}
