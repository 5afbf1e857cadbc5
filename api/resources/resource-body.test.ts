import { expect, test } from "vitest";
import type { RequestError } from "../http/errors.ts";
import { apiResources } from "./api-resource.ts";
import { changedSpec, specPatch } from "./resource-body.ts";

const destinations = apiResources.find(({ noun }) => noun === "destination")!;
const spec = { type: "DuckDB", duckDB: { path: "a.duckdb" }, displayName: "A" };

function refusal(change: () => unknown): unknown {
	try {
		return change();
	} catch (error) {
		return (error as RequestError).details;
	}
}

test("null removes a field", () => {
	const { spec: after } = changedSpec(
		destinations,
		spec,
		{ displayName: null },
		"lake",
	);
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
			() => changedSpec(destinations, spec, patch, "lake"),
			() => specPatch(destinations, patch, "lake"),
		]) {
			const details = refusal(change);
			expect(details).toEqual(unknown);
			expect(details).toHaveLength(2);
		}
	},
);
