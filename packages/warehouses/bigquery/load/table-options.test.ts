import { expect, test } from "vitest";
import type { LoadInput } from "../../../contracts/job.ts";
import type { BigQueryTableOptions } from "../definition.ts";
import type { BigQueryTable } from "./rest/google-refusal.ts";
import {
	keyProblem,
	lostWith,
	newTable,
	optionChanges,
	optionsOf,
} from "./table-options.ts";

const key = "projects/p/locations/europe/keyRings/r/cryptoKeys/k";
const all: BigQueryTableOptions = {
	description: "Orders",
	labels: { team: "shop" },
	partitionExpirationDays: 400,
	requirePartitionFilter: true,
	clusterBy: ["event_id"],
};

function inputOf(
	options?: BigQueryTableOptions,
	kmsKeyName?: string,
): LoadInput {
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

test.each<[keyof BigQueryTableOptions | "kmsKeyName", Partial<BigQueryTable>]>([
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

test("what an interrupted copy of an early build left goes", () => {
	const left = tableOf(inputOf(), {
		description: "Staging table of a Run that loads orders",
		expirationTime: "1",
	});
	expect(optionChanges(left, inputOf())).toEqual({
		description: "Events of shop",
		expirationTime: null,
	});
	expect(optionChanges(left, inputOf(all))).toMatchObject({
		description: "Orders",
	});
});

const described = {
	friendlyName: "Orders of ours",
	description: "Theirs",
	labels: { owner: "ada" },
	expirationTime: "32503680000000",
	requirePartitionFilter: true,
	clustering: { fields: ["event_id"] },
	schema: {
		fields: [
			{ name: "EVENT_ID", type: "STRING", description: "An id" },
			{
				name: "date",
				type: "STRING",
				description: "A day",
				defaultValueExpression: "'x'",
			},
			{ name: "gone", type: "STRING", description: "Gone" },
		],
	},
};

test("a rebuilt table is described as before, but for columns that are gone and what the Pipeline chooses", () => {
	const fields = [
		{ name: "event_id", type: "STRING", description: "An id" },
		{ name: "date", type: "DATE", description: "A day" },
	];
	const former = tableOf(inputOf(), {
		...described,
		timePartitioning: { type: "MONTH", field: "date", expirationMs: "1" },
	});
	expect(newTable(inputOf(), former)).toEqual({
		...described,
		timePartitioning: { type: "DAY", field: "date", expirationMs: "1" },
		schema: { fields },
	});
	expect(newTable(inputOf(all), former)).toMatchObject({
		description: "Orders",
		labels: { owner: "ada", team: "shop" },
		timePartitioning: { expirationMs: "34560000000" },
	});
	const gone = { ...former, clustering: { fields: ["gone"] } };
	expect(newTable(inputOf(), gone)).not.toHaveProperty("clustering");
	expect(lostWith(former, inputOf())).toEqual([]);
});

test("what protects a table is named, since a rebuild would lose it", () => {
	const [id] = described.schema.fields;
	const former = tableOf(inputOf(), {
		schema: { fields: [{ ...id!, policyTags: { names: ["p"] } }] },
		resourceTags: { "1/env": "prod" },
		tableConstraints: { primaryKey: { columns: ["event_id"] } },
		encryptionConfiguration: { kmsKeyName: `${key}/cryptoKeyVersions/2` },
	});
	expect(lostWith(former, inputOf())).toEqual([
		'the policy tags of column "EVENT_ID"',
		"the tag 1/env",
		"its primary and foreign keys",
		`its Cloud KMS key ${key}`,
	]);
	expect(lostWith(former, inputOf(all, key))).toHaveLength(3);
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
