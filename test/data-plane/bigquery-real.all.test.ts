// On a laptop nothing proves this: it needs a project of BigQuery. With the double in its place it is part of bigquery-checklist.
import { randomUUID } from "node:crypto";
import { BigQuery } from "@google-cloud/bigquery";
import { beforeAll, describe, expect, test } from "vitest";
import type { LoadInput } from "../../packages/contracts/job.ts";
import {
	GoogleAccount,
	scope,
} from "../../packages/warehouses/bigquery/load/rest/rest-client.ts";
import {
	destinationOf,
	stagedTable,
	type Trial,
	trialUnderWay,
} from "../bigquery/trial.ts";
import {
	behaviours,
	type Place,
} from "../support/examples/bigquery/behaviours.ts";
import {
	columns,
	eventsOf,
	loadFixture,
} from "../support/fixtures/data-plane/load-fixture.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";

/**
 * `make test-bigquery`: BigQuery itself, in a dataset that test/bigquery/run.ts creates and deletes. It costs nothing: it loads,
 * copies and lists.
 */
const underWay = trialUnderWay();

describe.skipIf(!underWay)("BigQuery itself", () => {
	// What is skipped is collected, too.
	const trial = underWay ?? ({} as Trial);
	const { projectId, dataset, location, endpoint, stagingBucket, kmsKeyName } =
		trial;
	const destination = destinationOf(trial);
	let bigQuery: BigQuery;
	let place: Place;

	beforeAll(async () => {
		const directory = await temporaryDirectory("behaviours");
		// As a Job's: a key signs its own tokens, which emulators take, too.
		const { client: authClient } = await GoogleAccount.open([scope.bigQuery]);
		bigQuery = new BigQuery({
			projectId,
			authClient,
			...(endpoint && { apiEndpoint: endpoint }),
		});
		place = { bigQuery, dataset, location, directory };
	}, 60_000);

	/** Ids of the rows of a table, or of a partition with `$YYYYMMDD`. */
	async function idsOf(table: string): Promise<string[]> {
		const [rows] = await bigQuery.dataset(dataset).table(table).getRows();
		return rows.map(({ event_id }) => event_id).toSorted();
	}

	async function metadataOf(table: string) {
		const [metadata] = await bigQuery
			.dataset(dataset)
			.table(table)
			.getMetadata();
		return metadata;
	}

	const ids = (date: string, count: number, tag: string) =>
		eventsOf(date, count, tag).map(({ event_id }) => event_id);
	const day = (date: string, count: number, tag: string) => ({
		[date]: [eventsOf(date, count, tag)],
	});

	async function fixture() {
		const { manifest, load } = await loadFixture();
		return {
			manifest,
			/** Loads, and expects that it succeeds. */
			async load(
				days: Awaited<ReturnType<typeof manifest>>,
				input: Partial<LoadInput>,
			) {
				const { exitCode, result, log } = await load(days, {
					input: { destination, ...input },
				});
				// The summary has its first line.
				const reason =
					result?.outcome === "Failed" ? result.error.message : log;
				expect(exitCode, reason).toBe(0);
			},
		};
	}

	test("days are replaced, emptied, left alone, and given new columns", async () => {
		const { manifest, load } = await fixture();
		await load(
			await manifest({
				...day("2026-03-01", 2, "old"),
				...day("2026-03-02", 2, "old"),
				...day("2026-03-03", 2, "old"),
			}),
			{},
		);
		const header = { name: "header_x_a", from: { header: "x-a" } };
		await load(
			await manifest({ ...day("2026-03-02", 3, "new"), "2026-03-03": [] }),
			{
				table: {
					name: "orders",
					description: "",
					columns: [...columns, header],
				},
			},
		);
		expect(await idsOf("orders")).toEqual([
			...ids("2026-03-01", 2, "old"),
			...ids("2026-03-02", 3, "new"),
		]);
	}, 300_000);

	test("a full reload replaces the table, and a repeated Run finds its jobs", async () => {
		const { manifest, load } = await fixture();
		const input: Partial<LoadInput> = {
			strategy: "FullReload",
			table: {
				name: "whole",
				description: "",
				columns: columns.slice(0, 3),
				options: { clusterBy: ["event_id"], labels: { team: "shop" } },
			},
		};
		await load(await manifest(day("2026-03-01", 2, "e")), input);
		const last = await manifest(day("2026-03-01", 3, "e"));
		for (let attempt = 1; attempt <= 2; attempt++) {
			await load(last, input);
			expect(await idsOf("whole")).toEqual(ids("2026-03-01", 3, "e"));
		}
		const { expirationTime, clustering, labels } = await metadataOf("whole");
		expect(expirationTime).toBeUndefined();
		expect(clustering).toEqual({ fields: ["event_id"] });
		expect(labels).toMatchObject({ team: "shop" });
	}, 300_000);

	test("a Run sets the options of a table that it finds", async () => {
		const { manifest, load } = await fixture();
		const days = await manifest(day("2026-03-01", 2, "a"));
		const table = { name: "options", description: "Made by a test", columns };
		await load(days, { table });
		const options = {
			description: "Orders",
			labels: { team: "shop" },
			partitionExpirationDays: 36_500,
			requirePartitionFilter: true,
			clusterBy: ["event_id"],
		};
		const again = { ...days, run: randomUUID() };
		await load(again, { table: { ...table, options } });
		expect(await metadataOf("options")).toMatchObject({
			description: "Orders",
			labels: { team: "shop" },
			timePartitioning: { expirationMs: "3153600000000" },
			requirePartitionFilter: true,
			clustering: { fields: ["event_id"] },
		});
	}, 300_000);

	test.skipIf(!stagingBucket)(
		"a day is loaded through the bucket (needs TIDEMILL_BIGQUERY_BUCKET)",
		async () => {
			const { manifest, load } = await fixture();
			await load(await manifest(day("2026-03-01", 2, "a")), {
				destination: { ...destination, stagingBucket: stagingBucket! },
				table: { name: stagedTable, description: "", columns },
			});
			expect(await idsOf(stagedTable)).toEqual(ids("2026-03-01", 2, "a"));
		},
		300_000,
	);

	test.skipIf(!kmsKeyName)(
		"a table is encrypted with a key of Cloud KMS (needs TIDEMILL_BIGQUERY_KMS_KEY)",
		async () => {
			const { manifest, load } = await fixture();
			const days = await manifest(day("2026-03-01", 2, "a"));
			const encrypted = { ...destination, kmsKeyName: kmsKeyName! };
			const table = { name: "encrypted", description: "", columns };
			for (const run of [days.run, randomUUID()])
				await load({ ...days, run }, { destination: encrypted, table });
			const { encryptionConfiguration } = await metadataOf("encrypted");
			expect(encryptionConfiguration.kmsKeyName).toContain(kmsKeyName);
		},
		300_000,
	);

	test("a dataset in another location is reported as such", async () => {
		const { manifest, load } = await loadFixture();
		const other = location.toLowerCase() === "us-east1" ? "EU" : "us-east1";
		const { result } = await load(await manifest({}), {
			input: { destination: { ...destination, location: other } },
		});
		expect(result).toMatchObject({ error: { code: "LocationMismatch" } });
	}, 60_000);

	// Not by test.each, which cuts a long name.
	for (const { name, check, createsDatasets = false } of behaviours)
		test.skipIf(createsDatasets && underWay?.isGiven)(
			name,
			() => check(place),
			300_000,
		);
});
