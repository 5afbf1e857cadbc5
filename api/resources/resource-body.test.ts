import { expect, test } from "vitest";
import type { RequestError } from "../http/errors.ts";
import { apiResources } from "./api-resource.ts";
import { changedSpec, newSpec, specPatch } from "./resource-body.ts";
import { resourceView } from "./views.ts";

const destinations = apiResources.find(({ noun }) => noun === "destination")!;
const spec = { type: "DuckDB", duckDB: { path: "a.duckdb" }, displayName: "A" };
const lake = {
	metadata: {
		name: "lake",
		uid: "1",
		generation: 1,
		creationTimestamp: "2026-01-01T00:00:00Z",
	},
	spec,
	status: {
		observedGeneration: 1,
		phase: "Ready",
		conditions: [{ type: "Ready" }],
	},
};

function refusal(change: () => unknown): unknown {
	try {
		return change();
	} catch (error) {
		return (error as RequestError).details;
	}
}

test("null removes a field", () => {
	const { spec: after } = changedSpec(destinations, lake, {
		displayName: null,
	});
	expect(after).toEqual({ type: "DuckDB", duckDB: { path: "a.duckdb" } });
});

test.each([
	["null", { "": null, duckDB: { size: null } }],
	["a value", { "": 1, duckDB: { size: 2 } }],
])(
	"an unknown field set to %s is refused and reported once, by both ways to patch",
	(_, patch) => {
		const unknown = expect.arrayContaining([
			{ path: "", message: "is not a known field" },
			{ path: "duckDB.size", message: "is not a known field" },
		]);
		for (const change of [
			() => changedSpec(destinations, lake, patch),
			() => specPatch(destinations, patch, "lake"),
		]) {
			const details = refusal(change);
			expect(details).toEqual(unknown);
			expect(details).toHaveLength(2);
		}
	},
);

test("what a GET answered can be edited and sent back", () => {
	const edited = { ...resourceView(lake), displayName: "B" };
	expect(changedSpec(destinations, lake, edited).spec).toEqual({
		...spec,
		displayName: "B",
	});
	const emptied = { lastCheck: null, managedBy: null };
	expect(changedSpec(destinations, lake, emptied).spec).toEqual(spec);
});

const problem = "is read-only: omit it, or send it as GET answers it";

test("a read-only field that the caller changed is refused by name", () => {
	const changes = { status: "Error", id: "2", conditions: [], lastCheck: {} };
	for (const patch of [changes, { ...resourceView(lake), ...changes }])
		expect(refusal(() => changedSpec(destinations, lake, patch))).toEqual(
			expect.arrayContaining(
				Object.keys(changes).map((path) => ({ path, message: problem })),
			),
		);
	expect(
		refusal(() => newSpec(destinations, { ...spec, id: "1" }, "lake")),
	).toEqual([{ path: "id", message: problem }]);
});

test("a read-only field that the operator changed since the GET is ignored", () => {
	const time = "2026-01-02T00:00:00Z";
	const managedFields = [{ manager: "tidemill-operator", time }];
	const later = {
		...lake,
		metadata: { ...lake.metadata, managedFields },
		status: { observedGeneration: 1, phase: "Error" },
	};
	const edited = { ...resourceView(lake), displayName: "B" };
	expect(changedSpec(destinations, later, edited).spec).toMatchObject({
		displayName: "B",
	});
	const forged = { ...edited, updateTime: time };
	expect(refusal(() => changedSpec(destinations, later, forged))).toMatchObject(
		[{ path: "status" }, { path: "conditions" }],
	);
});
