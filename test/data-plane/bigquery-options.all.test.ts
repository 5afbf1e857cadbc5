import { expect, test } from "vitest";
import type { LoadInput } from "../../packages/contracts/job.ts";
import type { BigQueryTableOptions } from "../../packages/warehouses/bigquery/input.ts";
import type { BigQueryField } from "../../packages/warehouses/bigquery/load/rest/api.ts";
import { bigQueryFixture } from "../support/fixtures/data-plane/bigquery-fixture.ts";
import { checkDestination } from "../support/fixtures/data-plane/check-fixture.ts";
import {
	columns,
	eventsOf,
} from "../support/fixtures/data-plane/load-fixture.ts";

const ring = "projects/test-project/locations/europe/keyRings/ring/cryptoKeys";
const all: BigQueryTableOptions = {
	description: "Orders of the shop",
	labels: { team: "shop" },
	partitionExpirationDays: 400,
	requirePartitionFilter: true,
	clusterBy: ["event_id"],
};

async function optionsFixture() {
	const fixture = await bigQueryFixture();
	const { double, manifest, load, destination } = fixture;
	const inputOf = (
		options: BigQueryTableOptions,
		kmsKeyName?: string,
		isFull = false,
	): Partial<LoadInput> => ({
		destination: { ...destination, ...(kmsKeyName && { kmsKeyName }) },
		strategy: isFull ? "FullReload" : "Incremental",
		table: {
			name: "orders",
			description: "Events of shop",
			columns: isFull ? columns.slice(0, 3) : columns,
			options,
		},
	});
	return {
		...fixture,
		/** Loads a day in this process. */
		loadWith: async (...input: Parameters<typeof inputOf>) => {
			const day = { "2026-03-01": [eventsOf("2026-03-01", 2, "a")] };
			const end = await load(await manifest(day), { input: inputOf(...input) });
			double.closeIdle();
			return end;
		},
		orders: () =>
			double.warehouse.require({
				projectId: double.projectId,
				datasetId: "shop",
				tableId: "orders",
			}),
	};
}

const inBigQuery = {
	description: "Orders of the shop",
	labels: { team: "shop", "tidemill-source": expect.any(String) },
	timePartitioning: { type: "DAY", field: "date", expirationMs: "34560000000" },
	requirePartitionFilter: true,
	clustering: { fields: ["event_id"] },
};

test("a table has the options that people chose from its creation on", async () => {
	const { loadWith, orders, rows } = await optionsFixture();
	const { exitCode, log } = await loadWith(all, `${ring}/k`);
	expect(exitCode, log).toBe(0);
	expect(orders()).toMatchObject({
		...inBigQuery,
		encryptionConfiguration: { kmsKeyName: `${ring}/k/cryptoKeyVersions/1` },
	});
	expect(await rows("select count(*)::int from shop.orders")).toEqual([[2]]);
});

test("a Run sets the options that a table lacks, and leaves alone those that people didn't choose", async () => {
	const { loadWith, orders, double } = await optionsFixture();
	await loadWith({ labels: { team: "none" } });
	const theirs = { labels: { theirs: "1" }, clustering: { fields: ["date"] } };
	const { tableReference } = orders();
	double.warehouse.patchTable(tableReference, theirs, undefined);
	const { clusterBy: _, ...chosen } = all;
	const { exitCode, log } = await loadWith(chosen);
	expect(exitCode, log).toBe(0);
	expect(log).toContain(
		'"changed":["labels","requirePartitionFilter","description","timePartitioning"]',
	);
	expect(orders()).toMatchObject({
		...inBigQuery,
		labels: { team: "shop", theirs: "1" },
		clustering: { fields: ["date"] },
	});
	const before = orders();
	const again = await loadWith({});
	expect(again.exitCode, again.log).toBe(0);
	expect(again.log).not.toContain("setting options");
	expect(orders()).toMatchObject({
		description: before.description,
		timePartitioning: before.timePartitioning,
		requirePartitionFilter: true,
		clustering: before.clustering,
	});
});

test("a full reload keeps the table's options", async () => {
	const { loadWith, orders, double } = await optionsFixture();
	const { description, labels, clusterBy } =
		all as Required<BigQueryTableOptions>;
	const options = { description, labels, clusterBy };
	for (let load = 1; load <= 2; load++) {
		const { exitCode, log } = await loadWith(options, `${ring}/k`, true);
		expect(exitCode, log).toBe(0);
		expect(orders()).toMatchObject({
			description,
			labels,
			clustering: { fields: clusterBy },
			encryptionConfiguration: { kmsKeyName: `${ring}/k/cryptoKeyVersions/1` },
		});
	}
	expect(double.warehouse.tableNames()).toEqual(["shop.orders"]);
});

test.each([true, false])(
	"what people set on columns outlasts Runs, and a new column comes beside it (full reload: %s)",
	async (isFull) => {
		const { loadWith, orders, double, load, manifest, rows } =
			await optionsFixture();
		// Without it, a Run of days refuses tags, which it may have to put back.
		if (!isFull) double.permissions.owned.add("shop");
		await loadWith({}, undefined, isFull);
		const { fields } = orders().schema as { fields: BigQueryField[] };
		const theirs = fields.map((field, n) => ({
			...field,
			description: `Column ${n}`,
			policyTags: {
				names: [`projects/p/locations/eu/taxonomies/1/policyTags/${n}`],
			},
		}));
		const { tableReference } = orders();
		double.warehouse.setFields(tableReference, theirs);
		await loadWith({}, undefined, isFull);
		expect(orders().schema?.fields).toEqual(theirs);
		const day = { "2026-03-01": [eventsOf("2026-03-01", 2, "b")] };
		const { exitCode, log } = await load(await manifest(day), {
			input: {
				strategy: isFull ? "FullReload" : "Incremental",
				table: {
					name: "orders",
					description: "",
					columns: [
						...(isFull ? columns.slice(0, 3) : columns),
						{ name: "header_x", from: { header: "x" } },
					],
				},
			},
		});
		expect(exitCode, log).toBe(0);
		expect(orders().schema?.fields).toEqual([
			...theirs,
			{ name: "header_x", type: "STRING" },
		]);
		expect(
			await rows("select count(*)::int, count(header_x)::int from shop.orders"),
		).toEqual([[2, 0]]);
	},
);

/** What people set in BigQuery, by its console, DDL or Terraform. */
const theirs = {
	description: "Ours",
	friendlyName: "Orders",
	labels: { owner: "ada" },
	expirationTime: "32503680000000",
	maxStaleness: "0-0 0 4:0:0",
	defaultCollation: "und:ci",
	defaultRoundingMode: "ROUND_HALF_EVEN",
} as const;
const protections = {
	resourceTags: { "1/env": "prod" },
	tableConstraints: { primaryKey: { columns: ["event_id"] } },
};
const ofColumns = {
	description: "Theirs",
	collation: "und:ci",
	defaultValueExpression: "'x'",
	policyTags: { names: ["projects/p/locations/eu/taxonomies/1/policyTags/2"] },
};

test.each([true, false])(
	"what people set on a table, and who has access to it, outlasts each Run (full reload: %s)",
	async (isFull) => {
		const { loadWith, orders, double, rows } = await optionsFixture();
		const first = await loadWith({}, undefined, isFull);
		expect(first.exitCode, first.log).toBe(0);
		const { tableReference, schema } = orders();
		const changes = {
			...theirs,
			...protections,
			...(!isFull && { requirePartitionFilter: true }),
			clustering: { fields: ["event_id"] },
			schema: {
				fields: schema!.fields!.map((field) =>
					field.type === "STRING" ? { ...field, ...ofColumns } : field,
				),
			},
		};
		double.warehouse.patchTable(tableReference, changes, undefined);
		const access = { rowAccessPolicies: ["only_eu"], roles: ["roles/viewer"] };
		double.warehouse.access.set("shop.orders", access);
		if (!isFull) {
			const before = orders();
			const { result } = await loadWith({}, undefined, isFull);
			expect(result).toMatchObject({
				error: {
					code: "TableIncompatible",
					message: expect.stringContaining(
						"policy tags on event_id, body. A load into a partition may take them away",
					),
				},
			});
			expect(orders()).toEqual(before);
			double.permissions.owned.add("shop");
		}
		const uid = orders().labels?.["tidemill-run"];
		const { exitCode, log } = await loadWith(
			{ labels: { team: "shop" } },
			undefined,
			isFull,
		);
		expect(exitCode, log).toBe(0);
		expect(orders()).toMatchObject({
			...changes,
			labels: { owner: "ada", team: "shop" },
		});
		expect(double.warehouse.access.get("shop.orders")).toEqual(access);
		expect(orders().labels?.["tidemill-run"]).not.toBe(uid);
		expect(await rows("select count(*)::int from shop.orders")).toEqual([[2]]);
	},
);

test("a rebuilt table is described as before; one that people protected is not rebuilt", async () => {
	const { load, manifest, orders, double, rows, destination } =
		await optionsFixture();
	const day = { "2026-03-01": [eventsOf("2026-03-01", 2, "a")] };
	const tableReference = {
		projectId: double.projectId,
		datasetId: "shop",
		tableId: "orders",
	};
	const { policyTags, ...describing } = ofColumns;
	const fields = [
		{ name: "event_id", type: "STRING", ...describing },
		{ name: "body", type: "JSON", description: "Theirs" },
	];
	const make = async (more: object = {}) => {
		await double.warehouse.createTable({
			tableReference,
			...theirs,
			schema: { fields },
			...more,
		});
		await rows("insert into shop.orders by name select 'old' as event_id");
	};
	const rebuild = async () =>
		load(await manifest(day), {
			input: { destination, adopt: true, rebuild: true },
		});
	await make();
	const { exitCode, log } = await rebuild();
	expect(exitCode, log).toBe(0);
	expect(orders()).toMatchObject({ ...theirs, labels: { owner: "ada" } });
	expect(orders().schema?.fields).toEqual(
		expect.arrayContaining([
			{ name: "event_id", type: "STRING", ...describing },
			{ name: "body", type: "STRING", description: "Theirs" },
		]),
	);
	await double.warehouse.deleteTable(tableReference);
	await make({
		...protections,
		schema: { fields: [{ ...fields[0]!, policyTags }, fields[1]!] },
	});
	double.warehouse.access.set("shop.orders", {
		rowAccessPolicies: ["only_eu"],
		roles: ["roles/bigquery.dataViewer"],
	});
	// Who has dataEditor alone may not see row access policies.
	double.permissions.owned.add("shop");
	const before = orders();
	const { result } = await rebuild();
	expect(result).toMatchObject({ error: { code: "TableIncompatible" } });
	for (const name of [
		"its own grants of roles/bigquery.dataViewer",
		"the row access policy only_eu",
		'the policy tags of column "event_id"',
		"the tag 1/env",
		"its primary and foreign keys",
	])
		expect(JSON.stringify(result)).toContain(JSON.stringify(name).slice(1, -1));
	expect(orders()).toEqual(before);
	expect(await rows("select event_id from shop.orders")).toEqual([["old"]]);
});

test("a key is changed in place, and a table without one is not written to as if it had one", async () => {
	const { loadWith, orders, rows } = await optionsFixture();
	await loadWith({});
	await rows("insert into shop.orders by name select 'old' as event_id");
	const refused = await loadWith({}, `${ring}/k`);
	expect(refused.result).toMatchObject({
		error: {
			code: "TableIncompatible",
			message: expect.stringContaining("bq cp --destination_kms_key"),
		},
	});
	expect(await rows("select count(*)::int from shop.orders")).toEqual([[3]]);

	const other = await optionsFixture();
	await other.loadWith({}, `${ring}/first`);
	const { exitCode, log } = await other.loadWith({}, `${ring}/second`);
	expect(exitCode, log).toBe(0);
	expect(other.orders().encryptionConfiguration?.kmsKeyName).toContain(
		`${ring}/second/`,
	);
	expect(orders()).not.toHaveProperty("encryptionConfiguration");
});

test("a check says that BigQuery can't use the Destination's key", async () => {
	const { destination, env } = await optionsFixture();
	const check = (kmsKeyName: string) =>
		checkDestination({ ...destination, kmsKeyName }, env);
	const { exitCode, log } = await check(`${ring}/k`);
	expect(exitCode, log).toBe(0);
	const { result } = await check(`${ring.replace("europe", "us")}/k`);
	expect(result).toMatchObject({
		error: {
			code: "BigQueryRefused",
			message: expect.stringContaining("is not in the location of the dataset"),
		},
	});
});

test("expirations that a dataset gives its tables are told by the check and by each Run", async () => {
	const { double, destination, env, loadWith } = await optionsFixture();
	const day = 86_400_000;
	double.warehouse.defaults.set("shop", {
		defaultPartitionExpirationMs: String(60 * day),
	});
	const checked = await checkDestination(destination, env);
	expect(checked.exitCode, checked.log).toBe(0);
	const words = "BigQuery deletes a day 60 days after its date.";
	expect(checked.result).toMatchObject({
		warning: expect.stringContaining(words),
	});
	for (let run = 1; run <= 2; run++) {
		const { result, log } = await loadWith({});
		expect(result).toMatchObject({ warning: expect.stringContaining(words) });
		expect(log).toContain(words);
	}
	const chosen = await loadWith({ partitionExpirationDays: 400 });
	expect(chosen.result).not.toHaveProperty("warning");
});
