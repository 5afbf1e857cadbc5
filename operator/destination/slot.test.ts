import { expect, test } from "vitest";
import {
	failedTimes,
	now,
	stateWith,
	statusIn,
} from "../../test/support/examples/destination-examples.ts";
import { decide } from "./decide.ts";

const place = { ahead: 2, heldInNamespace: 20, held: 31 };

test("a check that waits for a slot says so and starts nothing", () => {
	const actions = decide(stateWith({ place }), now);
	expect(statusIn(actions)).toMatchObject({
		phase: "Checking",
		conditions: [
			{
				status: "Unknown",
				reason: "Queued",
				message:
					"The check waits for its turn: 2 Jobs of this namespace come first. There are 20 Jobs in this namespace and 31 in all.",
			},
		],
	});
	expect(actions.at(-1)).toEqual({ type: "awaitSlot", afterMs: 32_000 });
	expect(actions.map(({ type }) => type)).not.toContain("startJob");
});

test("a failed check that waits to be repeated keeps its error", () => {
	const state = stateWith({ destination: failedTimes(1), place });
	expect(decide(state, now + 30_000)).toEqual([
		{ type: "awaitSlot", afterMs: 32_000 },
	]);
});

test("a repetition waits from when it was due, a first check from the Destination's creation", () => {
	const createdAt = "2026-02-01T00:00:00Z";
	const first = stateWith();
	first.destination.metadata.creationTimestamp = createdAt;
	expect(decide(first, now).at(-1)).toMatchObject({ age: `${createdAt} lake` });
	const repeated = stateWith({ destination: failedTimes(1) });
	expect(decide(repeated, now + 90_000)).toMatchObject([
		{ type: "startJob", age: "2026-03-01T12:00:30Z" },
	]);
});
