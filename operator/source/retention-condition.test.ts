import { expect, test } from "vitest";
import type { SourceRetention } from "../../packages/contracts/retention.ts";
import {
	keys,
	now,
	sourceWith,
	stateWith,
	statusIn,
} from "../../test/support/fixtures/control-plane/source-state.ts";
import { aboutOf } from "../reconcile/questions.ts";
import { decide } from "./decide.ts";
import type { SourceState } from "./state.ts";

const { sourceKey } = keys;
const from = "2026-01-30";

function retention(days: number, next?: number): SourceRetention {
	const lowered = next && { next: { days: next, date: "2026-03-09" } };
	return { version: 1, account: "shop", sourceKey, days, from, ...lowered };
}

function outcome(retentionDays: number, part: Partial<SourceState> = {}) {
	const source = sourceWith({ retentionDays });
	const actions = decide(stateWith({ source, ...part }), now);
	const condition = statusIn(actions)?.conditions?.find(
		({ type }) => type === "RetentionCurrent",
	);
	const asked = actions.find(({ type }) => type === "askRetention");
	return { actions, asked, condition, status: statusIn(actions) };
}

test("archive is asked for what the Source says, and until it answers nobody counts on it", () => {
	const { asked, condition, status } = outcome(400);
	expect(asked).toEqual({
		type: "askRetention",
		shard: 0,
		question: { account: "shop", sourceKey, days: 400 },
	});
	expect(condition).toMatchObject({
		status: "Unknown",
		reason: "RetentionPending",
		message: expect.stringContaining("30 days"),
	});
	expect(status).not.toHaveProperty("retention");
});

test.each([
	["the usual", 30, undefined, undefined, false],
	["what archive holds", 400, retention(400), "Current", false],
	["for ever", 0, retention(400), "InvalidRetention", false],
	["beyond the policy", 401, undefined, "InvalidRetention", false],
	["more than before", 400, retention(60), "RetentionPending", true],
	["less than before", 30, retention(400), "RetentionPending", true],
	["what holds later", 30, retention(400, 30), "RetentionLowered", false],
	[
		"what a rule of the bucket undoes",
		400,
		{ ...retention(400), problem: "a rule" },
		"RetentionUnavailable",
		true,
	],
	["what was to end", 400, retention(400, 30), "RetentionPending", true],
	["the usual, again", 30, retention(30), undefined, false],
])("a Source that asks for %s", (_, days, kept, reason, isAsked) => {
	const { asked, condition } = outcome(days, { kept });
	expect(condition?.reason).toBe(reason);
	expect(asked !== undefined).toBe(isAsked);
});

test.each([
	["of a Source that keeps them longer", 400, undefined],
	["that stands in another's status", 400, retention(60)],
	["of the usual time, once it was another", 30, retention(30)],
])(
	"while its keys can't be used, nothing is said of how long events stay: %s",
	(_, days, kept) => {
		const told = outcome(400, { kept: retention(400) }).status!;
		const source = { ...sourceWith({ retentionDays: days }), status: told };
		const state = stateWith({ source, kept, keyOwner: "another" });
		const actions = decide(state, now);
		expect(actions.map(({ type }) => type)).not.toContain("askRetention");
		const status = statusIn(actions);
		const condition = status?.conditions?.find(
			({ type }) => type === "RetentionCurrent",
		);
		expect(condition).toMatchObject({
			status: "Unknown",
			message: expect.not.stringMatching(/\d days/),
		});
		expect(status?.retention).toEqual(told.retention);
	},
);

test("a Source of the usual time says nothing while its keys can't be used", () => {
	const state = stateWith({ source: sourceWith(), keyOwner: "another" });
	const conditions = statusIn(decide(state, now))?.conditions ?? [];
	expect(conditions.map(({ type }) => type)).not.toContain("RetentionCurrent");
});

test("without a limit a Source may keep its events for ever", () => {
	const { asked } = outcome(0, { maxRetentionDays: 0 });
	expect(asked).toMatchObject({ question: { days: 0 } });
});

test("the Source stays ready while its retention is refused, and archive is asked again later", () => {
	const told = outcome(400, { retentionError: "a rule is in the way" });
	expect(told.asked).toBeUndefined();
	expect(told.actions).toContainEqual({
		type: "requeueAfter",
		afterMs: 60_000,
	});
	expect(told.condition).toMatchObject({
		status: "False",
		reason: "RetentionUnavailable",
		message: "a rule is in the way",
	});
	expect(told.status?.phase).toBe("Active");
	// What was said stays until there is news.
	const source = {
		...sourceWith({ retentionDays: 400 }),
		status: told.status!,
	};
	const again = decide(stateWith({ source }), now);
	expect(again.map(({ type }) => type)).toEqual(["askRetention"]);
});

test("the status says what holds, from when, and what comes", () => {
	const kept = retention(400, 30);
	const usual = { version: 1, days: 30, enforcedBy: "Sweep" } as const;
	expect(outcome(30, { kept, retention: usual }).status?.retention).toEqual({
		days: 400,
		enforcedBy: "Sweep",
		from,
		next: { days: 30, date: "2026-03-09" },
	});
});

test("what archive answers counts at once, unless it is another shard's answer", () => {
	const answeredBy = (shard: number) => ({
		about: aboutOf({
			type: "askRetention",
			shard,
			question: { account: "shop", sourceKey, days: 400 },
		}),
		answer: { ok: true, retention: retention(400) } as const,
	});
	const { asked, condition } = outcome(400, {
		retentionAnswered: answeredBy(0),
	});
	expect(asked).toBeUndefined();
	expect(condition).toMatchObject({ status: "True", reason: "Current" });
	const other = outcome(400, { retentionAnswered: answeredBy(1) });
	expect(other.asked).toBeDefined();
	expect(other.condition).toMatchObject({ reason: "RetentionPending" });
});
