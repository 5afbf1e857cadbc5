import { expect, test } from "vitest";
import {
	type Condition,
	type ConditionFindings,
	setCondition,
	setConditions,
} from "./conditions.ts";

const first = Date.parse("2026-03-01T10:00:00.123Z");
const later = Date.parse("2026-03-01T11:00:00.456Z");
const ready = {
	type: "Ready",
	status: "True",
	reason: "Fine",
	message: "",
	observedGeneration: 1,
} as const;

test("a new condition starts now, in whole seconds as in Kubernetes", () => {
	expect(setCondition(undefined, ready, first)).toEqual([
		{ ...ready, lastTransitionTime: "2026-03-01T10:00:00Z" },
	]);
});

test("lastTransitionTime moves only when the status flips (KEP-1623)", () => {
	const before = setCondition([], ready, first);
	const other = { ...ready, reason: "Other", observedGeneration: 2 } as const;
	expect(setCondition(before, other, later)[0]).toEqual({
		...other,
		lastTransitionTime: "2026-03-01T10:00:00Z",
	});
	expect(
		setCondition(before, { ...ready, status: "False" }, later)[0],
	).toMatchObject({
		status: "False",
		lastTransitionTime: "2026-03-01T11:00:00Z",
	});
});

test("a message is as people may read it on a terminal, and a status with it is found equal", () => {
	const finding = { ...ready, message: "type \u009b2J\u202ea" };
	const before = setCondition([], finding, first);
	expect(before[0]!.message).toBe("type \\u009b2J\\u202ea");
	expect(setCondition(before, finding, later)).toEqual(before);
});

test("conditions of other types keep their content and place", () => {
	const others: Condition[] = [
		{ ...ready, type: "A", lastTransitionTime: "x" },
		{ ...ready, lastTransitionTime: "y" },
		{ ...ready, type: "B", lastTransitionTime: "z" },
	];
	const after = setCondition(others, { ...ready, status: "False" }, first);
	expect(after.map((condition) => condition.type)).toEqual(["A", "Ready", "B"]);
	expect([after[0], after[2]]).toEqual([others[0], others[2]]);
});

test("findings are set, taken away and left as they were; other conditions stay", () => {
	const before: Condition[] = ["Other", "Gone", "Unclear", "Ready"].map(
		(type) => ({ ...ready, type, lastTransitionTime: "x" }),
	);
	const finding = { status: "False", reason: "Bad", message: "No." } as const;
	const findings = {
		...{ Ready: finding, Gone: undefined, Never: undefined },
		...{ Unclear: "as before", New: finding },
	} satisfies ConditionFindings;
	expect(setConditions(before, findings, 2, later)).toEqual([
		before[0],
		before[2],
		...["Ready", "New"].map((type) => ({
			...{ type, ...finding, observedGeneration: 2 },
			lastTransitionTime: "2026-03-01T11:00:00Z",
		})),
	]);
});
