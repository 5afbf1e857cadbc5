import { expect, test } from "vitest";
import type { DestinationSpec } from "../../crds/generated/types.ts";
import { checkHash } from "./check.ts";

const bigQuery: DestinationSpec = {
	type: "BigQuery",
	bigQuery: {
		projectId: "my-project",
		dataset: "events",
		createDataset: false,
	},
};
const duckDB: DestinationSpec = {
	type: "DuckDB",
	duckDB: { path: "events.duckdb", volumeClaimName: "claim" },
};

test("what earlier versions verified stays verified after an upgrade", () => {
	expect(checkHash(duckDB)).toBe(
		"eda63c21b32f872b553c67523502e25d2425b31946f902490041304109d4cc5b",
	);
	expect(checkHash(bigQuery)).toBe(
		"5e4b1eb316d57e88c6387e2b2b0f18ae9f2413fd221805565deae47f20164005",
	);
});

test("a Destination stays verified when its CRD gains a field or a default, or people's name for it changes", () => {
	const { createDataset: _, ...fewer } = bigQuery.bigQuery!;
	for (const same of [
		{ ...bigQuery, displayName: "Lake" },
		{ ...bigQuery, later: "a default" },
		{ ...bigQuery, bigQuery: { ...bigQuery.bigQuery!, later: {} } },
		{ ...bigQuery, bigQuery: { ...bigQuery.bigQuery!, location: "EU" } },
		{ ...bigQuery, bigQuery: fewer as typeof bigQuery.bigQuery },
	] as DestinationSpec[])
		expect(checkHash(same)).toBe(checkHash(bigQuery));
});

test.each<[string, DestinationSpec]>([
	[
		"location",
		{ ...bigQuery, bigQuery: { ...bigQuery.bigQuery!, location: "US" } },
	],
	[
		"dataset",
		{ ...bigQuery, bigQuery: { ...bigQuery.bigQuery!, dataset: "b" } },
	],
	[
		"project",
		{
			...bigQuery,
			bigQuery: { ...bigQuery.bigQuery!, projectId: "other-project" },
		},
	],
	[
		"creation",
		{ ...bigQuery, bigQuery: { ...bigQuery.bigQuery!, createDataset: true } },
	],
	[
		"endpoint",
		{
			...bigQuery,
			bigQuery: { ...bigQuery.bigQuery!, apiEndpoint: "http://a" },
		},
	],
	[
		"key of Cloud KMS",
		{ ...bigQuery, bigQuery: { ...bigQuery.bigQuery!, kmsKeyName: "k" } },
	],
	[
		"staging bucket",
		{ ...bigQuery, bigQuery: { ...bigQuery.bigQuery!, stagingBucket: "b" } },
	],
	["identity", { ...bigQuery, serviceAccountName: "loader" }],
	[
		"key",
		{
			...bigQuery,
			bigQuery: {
				...bigQuery.bigQuery!,
				credentials: { secretRef: { name: "s", key: "k" } },
			},
		},
	],
	["path", { ...duckDB, duckDB: { ...duckDB.duckDB!, path: "b" } }],
	[
		"volume",
		{ ...duckDB, duckDB: { path: "events.duckdb", volumeClaimName: "b" } },
	],
])("another %s is verified anew", (_, spec) => {
	const before = spec.type === "DuckDB" ? duckDB : bigQuery;
	expect(checkHash(spec)).not.toBe(checkHash(before));
});
