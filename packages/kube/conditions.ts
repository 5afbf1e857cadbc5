import { linesForTerminal } from "../escapes/terminal.ts";
import { rfc3339 } from "./resource.ts";

/** metav1.Condition (KEP-1623). */
export interface Condition {
	type: string;
	status: ConditionStatus;
	/** The generation of the spec that this describes. */
	observedGeneration?: number;
	/** When `status` last flipped, RFC 3339. */
	lastTransitionTime: string;
	/** One word for machines. */
	reason: string;
	/** For people: why, and what to do. */
	message: string;
}

export type ConditionStatus = "True" | "False" | "Unknown";

/** What is found about a resource as it is now. */
export interface ConditionFinding<Reason extends string = string> {
	status: ConditionStatus;
	reason: Reason;
	message: string;
}

/** `undefined` takes the condition away. "as before" leaves it as it is, since nobody knows better. */
export type ConditionFindings = Readonly<
	Record<string, ConditionFinding | "as before" | undefined>
>;

/** The conditions with each finding in its place, by type. New conditions have the order of the findings. */
export function setConditions(
	conditions: readonly Condition[] | undefined,
	findings: ConditionFindings,
	observedGeneration: number,
	nowMs: number,
): Condition[] {
	const kept = (conditions ?? []).filter(
		({ type }) => !(type in findings) || findings[type] !== undefined,
	);
	return Object.entries(findings).reduce(
		(set, [type, finding]) =>
			finding === undefined || finding === "as before"
				? set
				: setCondition(set, { type, ...finding, observedGeneration }, nowMs),
		kept,
	);
}

/**
 * The conditions with this one in its place. lastTransitionTime moves only when `status` flips (KEP-1623), so the same
 * finding gives equal conditions and causes no write.
 */
export function setCondition(
	conditions: readonly Condition[] | undefined,
	condition: Omit<Condition, "lastTransitionTime">,
	nowMs: number,
): Condition[] {
	const before = findCondition(conditions, condition.type);
	const lastTransitionTime =
		before?.status === condition.status
			? before.lastTransitionTime
			: rfc3339(nowMs);
	// As it is written: an equal finding is found equal.
	const message = linesForTerminal(condition.message);
	const after = { ...condition, message, lastTransitionTime };
	return before
		? conditions!.map((other) => (other === before ? after : other))
		: [...(conditions ?? []), after];
}

export function findCondition<T extends { type: string }>(
	conditions: readonly T[] | undefined,
	type: string,
): T | undefined {
	return conditions?.find((condition) => condition.type === type);
}
