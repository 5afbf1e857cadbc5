import { expect, test } from "vitest";
import { selectFairly } from "./frame-builder.ts";

const event = (source: string, bytes: number, account = "shop") => ({
	account,
	source,
	bytes,
});

test("every source gets its turn, oldest event first, however much another source has sent", () => {
	const flood = Array.from({ length: 100 }, () => event("flood", 10));
	const others = [event("b", 10), event("c", 10), event("c", 10)];
	const { chosen, rest } = selectFairly([...flood, ...others], 50);
	expect(chosen).toEqual([flood[0], flood[1], ...others]);
	expect(chosen[0]).toBe(flood[0]);
	expect(rest).toEqual(flood.slice(2));
});

test("every account gets its turn, however many Sources another account sends to", () => {
	const greedy = Array.from({ length: 100 }, (_, n) =>
		event(String(n % 28), 10, "greedy"),
	);
	const others = [event("b", 10), event("c", 10), event("c", 10)];
	const { chosen } = selectFairly([...greedy, ...others], 60);
	expect(chosen).toEqual([...greedy.slice(0, 3), ...others]);
});

test("an event that is too large for a frame goes alone and doesn't delay others", () => {
	const large = event("a", 100);
	const small = event("b", 10);
	expect(selectFairly([large, small], 50)).toEqual({
		chosen: [large],
		rest: [small],
	});
	expect(selectFairly([small, large], 50)).toEqual({
		chosen: [small],
		rest: [large],
	});
});

test("all events are chosen if they fit", () => {
	const events = [event("a", 10), event("b", 20), event("a", 10)];
	expect(selectFairly(events, 40)).toEqual({ chosen: events, rest: [] });
});
