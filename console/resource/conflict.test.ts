import { expect, test } from "vitest";
import { conflictsOf, isSame, mergedDraft } from "./conflict.ts";
import { withField } from "./draft.ts";

const before = {
	name: "orders",
	labels: { team: "shop" },
	spec: {
		overwritePeriodDays: 1,
		schedule: { type: "Daily", updateTime: "06:30" },
		table: { columns: ["Body", "Date"] },
	},
};

test("changes of both sides are kept, and what both changed is disputed", () => {
	const mine = withField(
		withField(before, "overwritePeriodDays", 3),
		"schedule.updateTime",
		"07:00",
	);
	const theirs = withField(
		withField(before, "schedule.updateTime", "08:00"),
		"table.columns",
		["Date"],
	);
	expect(
		conflictsOf(before, mine, theirs).map(({ path, isDisputed }) => [
			path,
			isDisputed,
		]),
	).toEqual([
		["overwritePeriodDays", false],
		["schedule › updateTime", true],
		["table › columns", false],
	]);
	expect(mergedDraft(before, mine, theirs)).toEqual({
		...before,
		spec: {
			overwritePeriodDays: 3,
			schedule: { type: "Daily", updateTime: "07:00" },
			table: { columns: ["Date"] },
		},
	});
	expect(
		mergedDraft(before, mine, theirs, new Set(["schedule › updateTime"])).spec,
	).toMatchObject({ schedule: { updateTime: "08:00" } });
});

test("the same change on both sides is none to decide", () => {
	const changed = withField(before, "overwritePeriodDays", 2);
	expect(conflictsOf(before, changed, changed)).toMatchObject([
		{ isDisputed: false },
	]);
});

test("a field that one side removed stays removed, and an object may become a value", () => {
	const mine = withField(before, "schedule.updateTime", undefined);
	expect(mergedDraft(before, mine, before).spec.schedule).toEqual({
		type: "Daily",
	});
	const theirs = { ...before, labels: { team: "shop", "a.b/c": "1" } };
	expect(mergedDraft(before, before, theirs)).toEqual(theirs);
});

test("a member called __proto__ is a member", () => {
	const common = JSON.parse('{"__proto__": {"polluted": 1}}');
	const theirs = { name: "a", spec: { common } };
	const merged = mergedDraft(
		{ name: "a", spec: {} },
		{ name: "a", spec: {} },
		theirs,
	);
	expect({}).not.toHaveProperty("polluted");
	expect(isSame(merged, theirs)).toBe(true);
});

test("removing the last member of an object removes the object", () => {
	expect(
		withField(
			{ name: "a", spec: { table: { name: "x" } } },
			"table.name",
			undefined,
		),
	).toEqual({ name: "a", spec: {} });
});
