import { expect, test } from "vitest";
import type { LoadInput } from "../../packages/contracts/job.ts";
import type { JobFailure } from "../../packages/warehouses/load/failure.ts";
import { knownTypes } from "../../packages/warehouses/registry.ts";
import { parseCheckInput, parseLoadInput } from "./process.ts";

const bigQuery = { type: "BigQuery", projectId: "p", dataset: "d" };
const input = {
	version: 1,
	run: { name: "r", uid: "u", account: "shop", pipeline: "p" },
	destination: { type: "DuckDB", path: "w.duckdb" },
	table: {
		name: "orders",
		description: "",
		columns: [
			{ name: "event_id", from: "EventID" },
			{ name: "date", from: "Date" },
		],
	},
	strategy: "Incremental",
	rebuild: false,
	manifestURL: "https://s3/runs/u.json",
} satisfies LoadInput;
const withoutDate = {
	...input.table,
	columns: [{ name: "event_id", from: "EventID" }],
};

test.each([
	["Incremental into DuckDB", {}],
	["FullReload", { strategy: "FullReload", table: withoutDate }],
	["BigQuery", { destination: { ...bigQuery, location: "EU" } }],
])("%s: an input of the operator is accepted", (_, change) => {
	const text = JSON.stringify({ ...input, ...change });
	expect(parseLoadInput(text)).toEqual(JSON.parse(text));
});

test.each<[object | string, string]>([
	["no JSON", "The Job's input is not JSON"],
	["null", "version undefined, but this image reads version 1"],
	[{ version: 2 }, "version 2, but this image reads version 1"],
	[
		{ destination: { type: "Oracle" } },
		`a destination of type Oracle, but this image knows only ${knownTypes()}`,
	],
	[{ destination: undefined }, "a destination of type undefined"],
	[{ destination: { type: "DuckDB" } }, "no valid destination.path"],
	[{ destination: bigQuery }, "no valid destination.location"],
	[{ run: {} }, "no valid run.uid"],
	[{ table: { ...input.table, name: "" } }, "no valid table.name"],
	[{ table: { ...input.table, columns: [] } }, "no valid table.columns"],
	[{ manifestURL: "runs/u.json" }, "no valid manifestURL"],
	[{ strategy: "Append", table: withoutDate }, "no valid strategy."],
	[{ strategy: "FullReload" }, "FullReload excludes it"],
	[{ table: withoutDate }, "Incremental needs the Date column"],
])("%j is refused, and the message says why", (change, words) => {
	const text =
		typeof change === "string"
			? change
			: JSON.stringify({ ...input, ...change });
	const failure = catching(() => parseLoadInput(text));
	expect(failure?.code).toBe("InputInvalid");
	expect(failure?.message).toContain(words);
});

test("a check's input needs a Destination and no table", () => {
	const { version, destination } = input;
	const check = { version, account: "shop", destination };
	expect(parseCheckInput(JSON.stringify(check))).toEqual(check);
	const failure = catching(() => parseCheckInput('{"version":1}'));
	expect(failure?.code).toBe("InputInvalid");
});

function catching(work: () => unknown): JobFailure | undefined {
	try {
		work();
		return undefined;
	} catch (error) {
		return error as JobFailure;
	}
}
