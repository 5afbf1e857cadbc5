import { expect, test } from "vitest";
import type { LoadInput } from "../../../contracts/job.ts";
import type { TableOptions } from "../input.ts";
import type { BigQueryTable } from "./rest/api.ts";
import { keyProblem, optionChanges, optionsOf } from "./table-options.ts";

const key = "projects/p/locations/europe/keyRings/r/cryptoKeys/k";
const all: TableOptions = {
	description: "Orders",
	labels: { team: "shop" },
	partitionExpirationDays: 400,
	requirePartitionFilter: true,
	clusterBy: ["event_id"],
};

function inputOf(options?: TableOptions, kmsKeyName?: string): LoadInput {
	return {
		version: 1,
		run: { name: "r", uid: "u-1", account: "shop", pipeline: "p" },
		destination: {
			type: "BigQuery",
			projectId: "p",
			dataset: "d",
			location: "EU",
			createDataset: false,
			...(kmsKeyName !== undefined && { kmsKeyName }),
		},
		table: {
			name: "orders",
			columns: [
				{ name: "event_id", from: "EventID" },
				{ name: "date", from: "Date" },
			],
			description: "Events of shop",
			...(options && { options }),
		},
		strategy: "Incremental",
		rebuild: false,
		manifestURL: "http://x",
	};
}

function tableOf(
	input: LoadInput,
	changes: Partial<BigQueryTable> = {},
): BigQueryTable {
	return {
		tableReference: { projectId: "p", datasetId: "d", tableId: "orders" },
		...optionsOf(input),
		...changes,
	};
}

test("a table is created with what people chose", () => {
	expect(optionsOf(inputOf())).toEqual({
		description: "Events of shop",
		timePartitioning: { type: "DAY", field: "date" },
	});
	const stored = {
		clustering: { fields: ["event_id"] },
		encryptionConfiguration: { kmsKeyName: key },
	};
	expect(optionsOf(inputOf(all, key))).toEqual({
		...stored,
		description: "Orders",
		labels: { team: "shop" },
		timePartitioning: {
			type: "DAY",
			field: "date",
			expirationMs: "34560000000",
		},
		requirePartitionFilter: true,
	});
});

test("a table that has what people chose is not changed, whatever else it has", () => {
	const input = inputOf(all, key);
	const existing = tableOf(input, {
		labels: { team: "shop", theirs: "1", "tidemill-run": "u" },
		encryptionConfiguration: { kmsKeyName: `${key}/cryptoKeyVersions/2` },
	});
	expect(optionChanges(existing, input)).toEqual({});
	expect(optionChanges(existing, inputOf())).toEqual({});
});

test.each<[keyof TableOptions | "kmsKeyName", Partial<BigQueryTable>]>([
	["description", { description: "Theirs" }],
	["labels", { labels: { team: "other" } }],
	[
		"partitionExpirationDays",
		{ timePartitioning: { type: "DAY", field: "date" } },
	],
	["requirePartitionFilter", { requirePartitionFilter: false }],
	["clusterBy", { clustering: { fields: ["event_id", "date"] } }],
	["kmsKeyName", { encryptionConfiguration: { kmsKeyName: `${key}2` } }],
])("a table with another %s gets that alone", (_, other) => {
	const input = inputOf(all, key);
	const [name] = Object.keys(other) as (keyof BigQueryTable)[];
	expect(optionChanges(tableOf(input, other), input)).toEqual({
		[name!]: optionsOf(input)[name as keyof ReturnType<typeof optionsOf>],
	});
});

test("what people turn off is turned off", () => {
	const existing = tableOf(inputOf(all));
	const input = inputOf({ requirePartitionFilter: false });
	expect(optionChanges(existing, input)).toEqual({
		requirePartitionFilter: false,
	});
});

test("only a table without any key can't get the Destination's", () => {
	const bare = tableOf(inputOf());
	expect(keyProblem(bare, inputOf())).toBeUndefined();
	expect(keyProblem(bare, inputOf(all, key))).toContain("bq cp");
	const other = { encryptionConfiguration: { kmsKeyName: `${key}2` } };
	const encrypted = { ...bare, ...other };
	expect(keyProblem(encrypted, inputOf(all, key))).toBeUndefined();
	expect(keyProblem(encrypted, inputOf())).toBeUndefined();
});
