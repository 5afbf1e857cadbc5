import { expect, test } from "vitest";
import { sumOfDeviations } from "../../../packages/contracts/ledger.ts";
import type { FrameEvent } from "../../wire/frame-event.ts";
import { deviationsOf } from "./deviations.ts";

const noon = Date.UTC(2026, 2, 1, 12);
const lastEventTime = "2026-03-01T12:00:00.000Z";

function event(validation: object | string, more: Partial<FrameEvent> = {}) {
	return {
		id: Buffer.alloc(16),
		receivedAtMs: noon,
		account: "shop",
		sourceKey: "aa".repeat(16),
		kind: "json" as const,
		headers: "",
		violations:
			typeof validation === "string" ? validation : JSON.stringify(validation),
		body: Buffer.from("{}"),
		...more,
	};
}

function of(...kinds: string[]) {
	return { violations: kinds.map((kind) => ({ kind, path: "", message: "" })) };
}

test("an event counts once for each of its kinds, with a note or in quarantine, and the latest tells the time", () => {
	const twice = { type: "a", ...of("TypeMismatch", "TypeMismatch") };
	const both = { type: "a", ...of("TypeMismatch", "RequiredMissing") };
	const events = [
		event(both, { quarantined: true }),
		event(twice, { receivedAtMs: noon - 1 }),
		event(of("TypeMismatch"), { receivedAtMs: noon - 1 }),
	];
	expect(deviationsOf(events)).toEqual({
		entries: [
			{
				type: "a",
				kind: "TypeMismatch",
				annotated: 1,
				quarantined: 1,
				lastEventTime,
			},
			{
				type: "a",
				kind: "RequiredMissing",
				annotated: 0,
				quarantined: 1,
				lastEventTime,
			},
			{
				kind: "TypeMismatch",
				annotated: 1,
				quarantined: 0,
				lastEventTime: "2026-03-01T11:59:59.999Z",
			},
		],
	});
});

test("events that are as planned, or without a plan, deviate in nothing, whatever their type is called", () => {
	const planned = { plan: "p", version: "v", type: '"violations":' };
	expect(deviationsOf([event(""), event(planned)])).toBeUndefined();
});

test("a validation that is no JSON counts as nothing, and stops nothing", () => {
	expect(deviationsOf([event('{"violations":[')])).toBeUndefined();
});

test("the twenty most frequent are told apart, of long types the first hundred characters", () => {
	const events = Array.from({ length: 30 }, (_, n) =>
		event({ type: `${n % 25} ${"x".repeat(150)}`, ...of("UnplannedEvent") }),
	);
	const { entries, others } = deviationsOf(events)!;
	expect(entries.map(({ annotated }) => annotated)).toEqual([
		...Array(5).fill(2),
		...Array(15).fill(1),
	]);
	expect(entries.every(({ type }) => type!.length === 100)).toBe(true);
	expect(others).toEqual({ annotated: 5, quarantined: 0, lastEventTime });
	const sum = sumOfDeviations([{ entries, others: others! }, { entries }])!;
	expect(sum.entries.map(({ annotated }) => annotated)).toEqual([
		...Array(5).fill(4),
		...Array(15).fill(2),
	]);
	expect(sum.others).toEqual(others);
});

test("of equally frequent deviations the first by name comes first", () => {
	const types = ["b", "a", "c"];
	const events = types.map((type) => event({ type, ...of("UnplannedEvent") }));
	const { entries } = deviationsOf(events)!;
	expect(entries.map(({ type }) => type)).toEqual(["a", "b", "c"]);
});

test("a sum has the time of the latest event, whichever was counted first", () => {
	const counted = (receivedAtMs: number) =>
		deviationsOf([event(of("TypeMismatch"), { receivedAtMs })])!;
	const [early, late] = [counted(noon - 1), counted(noon)];
	for (const all of [
		[early, late],
		[late, early],
	])
		expect(sumOfDeviations(all)!.entries).toMatchObject([{ lastEventTime }]);
});
