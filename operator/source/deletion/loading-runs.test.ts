import { expect, test } from "vitest";
import type { RunStatus } from "../../../crds/generated/types.ts";
import {
	layout,
	runOf,
} from "../../../test/support/examples/resource-examples.ts";
import { loadingRuns } from "./state.ts";

const { sourceKey } = layout;

function loading(status: RunStatus): boolean {
	return loadingRuns([runOf("r", status)], sourceKey).length > 0;
}

test.each<[string, RunStatus]>([
	["is about to create its Job", { phase: "Running", layout }],
	["loads", { phase: "Running", attempts: 1, layout }],
	["has a Job whose Pod waits", { phase: "Pending", attempts: 1, layout }],
])("a Run that %s loads the Source's events", (_, status) => {
	expect(loading(status)).toBe(true);
});

test.each<[string, RunStatus]>([
	["has not begun", {}],
	["waits for archive", { phase: "Pending" }],
	["waits for a new Job", { phase: "Pending", layout }],
	[
		"loads another Source's events",
		{ phase: "Running", layout: { ...layout, sourceKey: "other" } },
	],
	[
		"has ended",
		{
			phase: "Succeeded",
			attempts: 1,
			layout,
			completionTime: "2026-03-31T12:00:00Z",
		},
	],
])("a Run that %s loads none of them", (_, status) => {
	expect(loading(status)).toBe(false);
});

test("Runs are named in the same order each time", () => {
	const running = { phase: "Running", layout } as const;
	const runs = [runOf("b", running), runOf("a", running)];
	expect(loadingRuns(runs, sourceKey)).toEqual(["a", "b"]);
});

test("a Source without a source key has no events to load", () => {
	expect(loadingRuns([runOf("r", { phase: "Running" })], undefined)).toEqual(
		[],
	);
});
