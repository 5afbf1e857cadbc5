// On a laptop nothing proves this: it is of `make test-bigquery` alone, which is for a project of BigQuery.
import { type ChildProcess, spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { constants } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test, vi } from "vitest";
import { firstPromise } from "../bigquery/summary.ts";
import { remove } from "../bigquery/trial.ts";
import { Fault } from "../support/doubles/bigquery/fault.ts";
import {
	type BigQueryDouble,
	startBigQueryDouble,
} from "../support/doubles/bigquery/server.ts";
import { behaviours } from "../support/examples/bigquery/behaviours.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";

/*
 * `make test-bigquery` is for a project of BigQuery, which no test of ours has. So that a person who has one doesn't find out
 * that the checklist itself is broken, it runs here with the double in BigQuery's place. It is a second opinion on the double,
 * too (docs/decisions/0023): Google's own client understands its answers, and what load relies on in BigQuery holds for it.
 */

/** What the checklist printed at its end, by line, without its indentation. */
async function checklist(
	double: BigQueryDouble,
	more: Record<string, string> = {},
	onStart: (child: ChildProcess) => void = () => undefined,
) {
	const directory = await temporaryDirectory("checklist");
	const key = join(directory, "key.json");
	await writeFile(key, double.keyJson);
	const script = join(import.meta.dirname, "../bigquery/run.ts");
	const child = spawn(process.execPath, [script], {
		stdio: ["ignore", "pipe", "pipe"],
		env: {
			...process.env,
			GOOGLE_APPLICATION_CREDENTIALS: key,
			TIDEMILL_BIGQUERY_PROJECT: double.projectId,
			TIDEMILL_BIGQUERY_ENDPOINT: double.endpoint,
			...more,
		},
	});
	onStart(child);
	const exited = new Promise((resolve) => child.on("exit", resolve));
	const [said, errors] = await Promise.all([
		text(child.stdout),
		text(child.stderr),
	]);
	const start = said.indexOf(`\nProject ${double.projectId}, `);
	const lines = said
		.slice(start)
		.split("\n")
		.map((line) => line.trim());
	const words = (word: string) =>
		lines
			.filter((line) => line.startsWith(`${word} `))
			.map((line) => line.slice(word.length).trim());
	return {
		exitCode: await exited,
		said: said + errors,
		passed: words("passed"),
		failed: words("FAILED"),
		skipped: words("skipped"),
		summary: lines.filter((line) => /^\d+ passed/.test(line)),
	};
}

/** A module that keeps its process from ending by SIGTERM, whatever Vitest listens to. */
const deafToSigterm = `data:text/javascript,${encodeURIComponent(`
	const { on } = process;
	on.call(process, "SIGTERM", () => undefined);
	for (const name of ["on", "once", "addListener"])
		process[name] = (event, ...rest) =>
			event === "SIGTERM" ? process : on.call(process, event, ...rest);
`)}`;

async function startDouble(): Promise<BigQueryDouble> {
	const double = await startBigQueryDouble();
	onTestFinished(() => double.close());
	return double;
}

test("the checklist tests each of its promises, leaves nothing of its own and every dataset that it didn't make, and says that it wasn't Google who answered", async () => {
	const double = await startDouble();
	double.buckets.create("staging");
	await double.warehouse.createDataset("events", "EU");
	const run = await checklist(double, {
		TIDEMILL_BIGQUERY_BUCKET: "staging",
		TIDEMILL_BIGQUERY_KMS_KEY:
			"projects/p/locations/europe/keyRings/r/cryptoKeys/k",
		// Whatever the environment names.
		TIDEMILL_BIGQUERY_DATASET: "events",
	});
	const { exitCode, said, passed, failed, skipped, summary } = run;
	expect(exitCode, said).toBe(0);
	expect(passed).toHaveLength(7 + behaviours.length);
	expect(passed).toEqual(
		expect.arrayContaining([
			firstPromise,
			"days are replaced, emptied, left alone, and given new columns",
			"a day is loaded through the bucket (needs TIDEMILL_BIGQUERY_BUCKET)",
			"a table is encrypted with a key of Cloud KMS (needs TIDEMILL_BIGQUERY_KMS_KEY)",
			...behaviours.map(({ name }) => name),
		]),
	);
	expect({ failed, skipped, summary }).toEqual({
		failed: [],
		skipped: [],
		summary: [`${passed.length} passed, 0 failed, 0 skipped`],
	});
	expect([...double.warehouse.datasets.keys()]).toEqual(["events"]);
	expect(double.buckets.names("staging")).toEqual([]);
	const ofEvents = double.requests.filter(({ path }) =>
		path.includes("/datasets/events"),
	);
	expect(ofEvents).toEqual([]);
	const notGoogle = `NOT GOOGLE: ${double.endpoint} `;
	const lines = said.trim().split("\n");
	expect(lines[1]).toBe(`${notGoogle}answers in BigQuery's place.`);
	expect(lines.at(-1)).toBe(
		`${notGoogle}answered, so none of this is proved of BigQuery itself.`,
	);
	expect(said).not.toMatch(/^ *proved /m);
});

test("the checklist names what is missing and what BigQuery refuses, and fails", async () => {
	const double = await startDouble();
	let tables = 0;
	double.onRequest = ({ method, path }) =>
		// The first table is the check's. Most promises need one of their own, so this run is short.
		method === "POST" && path.endsWith("/tables") && ++tables > 1
			? new Fault(403, "accessDenied", "bigquery.tables.create denied")
			: undefined;
	const { exitCode, said, passed, failed, skipped, summary } = await checklist(
		double,
		// The place that another check takes for one where the dataset isn't.
		{ TIDEMILL_BIGQUERY_LOCATION: "us-east1" },
	);
	expect(exitCode, said).toBe(1);
	const [exists, missing, ...needTable] = behaviours.map(({ name }) => name);
	expect(passed).toEqual([
		firstPromise,
		"a dataset in another location is reported as such",
		exists,
		missing,
	]);
	expect(failed).toEqual([
		"days are replaced, emptied, left alone, and given new columns",
		"a full reload replaces the table, and a repeated Run finds its jobs",
		"a Run sets the options of a table that it finds",
		...needTable,
	]);
	expect(said).toMatch(/^ +Error: bigquery.tables.create denied$/m);
	expect(skipped).toEqual([
		"a day is loaded through the bucket (needs TIDEMILL_BIGQUERY_BUCKET)",
		"a table is encrypted with a key of Cloud KMS (needs TIDEMILL_BIGQUERY_KMS_KEY)",
	]);
	expect(summary).toEqual([
		`4 passed, ${3 + needTable.length} failed, 2 skipped`,
	]);
	leavesNothing(double);
});

test.each([
	{
		name: "no project",
		env: { TIDEMILL_BIGQUERY_PROJECT: "" },
		says: "make test-bigquery TIDEMILL_BIGQUERY_PROJECT=my-project",
	},
	{
		name: "a right that the account lacks",
		fault: new Fault(403, "accessDenied", "bigquery.datasets.create denied"),
		says: "--member=serviceAccount:loader@test-project.iam.gserviceaccount.com --role=roles/bigquery.user",
	},
])(
	"the checklist says what to do about $name, and that nothing was tested",
	async ({ env, fault, says }) => {
		const double = await startDouble();
		double.onRequest = ({ method }) => (method === "POST" ? fault : undefined);
		const { exitCode, said } = await checklist(double, env);
		expect(exitCode, said).toBe(1);
		expect(said).toContain("NOTHING WAS TESTED, and nothing is proved");
		expect(said).toContain(fault?.message ?? "");
		expect(said).toContain(says);
		leavesNothing(double);
	},
);

test("Ctrl-C ends the checklist, and nothing stays in the project", async () => {
	const double = await startDouble();
	double.buckets.create("staging");
	let child: ChildProcess;
	double.onRequest = ({ path }) => {
		// In the middle of the tests, before the object is loaded and deleted.
		if (path.endsWith("/tables/staged")) child.kill("SIGINT");
		return undefined;
	};
	const { exitCode, said, summary } = await checklist(
		double,
		{ TIDEMILL_BIGQUERY_BUCKET: "staging" },
		(started) => {
			child = started;
		},
	);
	expect(exitCode, said).toBe(128 + constants.signals.SIGINT);
	expect(said).toContain("SIGINT stopped it");
	expect(summary).toEqual([]);
	await double.settled();
	leavesNothing(double);
	expect(double.buckets.names("staging")).toEqual([]);
});

test("a second Ctrl-C ends the tests, even those that a first one doesn't end", async () => {
	const double = await startDouble();
	let child: ChildProcess;
	double.onRequest = ({ path }) => {
		if (path.endsWith("/tables/orders")) child.kill("SIGINT");
		return undefined;
	};
	const { exitCode, said } = await checklist(
		double,
		{ NODE_OPTIONS: `--import=${deafToSigterm}` },
		(started) => {
			child = started;
			child.stderr?.on("data", (words) => {
				if (String(words).includes("Once more leaves it")) child.kill("SIGINT");
			});
		},
	);
	expect(exitCode, said).toBe(128 + constants.signals.SIGINT);
	expect(said).toContain("The dataset may stay. Delete it:");
	// What Vitest prints at its end.
	expect(said).not.toContain("Test Files");
});

test("a dataset that exists already stays as it is, even if it has a trial's name", async () => {
	const double = await startDouble();
	double.onRequest = ({ path }) => {
		const [, name] = /\/datasets\/(\w+)$/.exec(path) ?? [];
		if (name && double.warehouse.datasets.size === 0)
			void double.warehouse.createDataset(name, "EU");
		return undefined;
	};
	const { exitCode, said } = await checklist(double);
	expect(exitCode, said).toBe(1);
	expect(said).toContain("NOTHING WAS TESTED, and nothing is proved");
	expect(said).toMatch(
		/Dataset test-project\.tidemill_test_\w+ exists already/,
	);
	expect([...double.warehouse.datasets.keys()]).toHaveLength(1);
	expect(double.requests.filter(({ method }) => method !== "GET")).toEqual([]);
});

test("nothing is deleted but a trial's dataset", async () => {
	const double = await startDouble();
	await double.warehouse.createDataset("events", "EU");
	const key = join(await temporaryDirectory("checklist"), "key.json");
	await writeFile(key, double.keyJson);
	vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", key);
	onTestFinished(() => void vi.unstubAllEnvs());
	const trial = {
		projectId: double.projectId,
		dataset: "events",
		isGiven: false,
		location: "EU",
		endpoint: double.endpoint,
		stagingBucket: undefined,
		kmsKeyName: undefined,
	};
	await expect(remove(trial)).rejects.toThrow("events is no trial's dataset");
	expect([...double.warehouse.datasets.keys()]).toEqual(["events"]);
});

test("the checklist needs no more than a Job in an empty dataset that is given to it, which it leaves empty", async () => {
	const double = await startDouble();
	const given = "tidemill_test_mine";
	await double.warehouse.createDataset(given, "EU");
	double.permissions.projectRole = "bigquery.jobUser";
	const env = { TIDEMILL_BIGQUERY_EMPTY_DATASET: given };
	const { exitCode, said, failed, skipped } = await checklist(double, env);
	expect(exitCode, said).toBe(0);
	expect(failed).toEqual([]);
	expect(skipped).toContain(behaviours[0]!.name);
	expect([...double.warehouse.datasets.keys()]).toEqual([given]);
	expect(double.warehouse.tableNames()).toEqual([]);

	const tableReference = {
		projectId: double.projectId,
		datasetId: given,
		tableId: "theirs",
	};
	const schema = { fields: [{ name: "a", type: "STRING" }] };
	await double.warehouse.createTable({ tableReference, schema });
	const refused = await checklist(double, env);
	expect(refused.exitCode).toBe(1);
	expect(refused.said).toContain(`${given} has tables: theirs`);
	expect(double.warehouse.tableNames()).toEqual([`${given}.theirs`]);
});

test("the checklist that can't delete its dataset says how to, and fails", async () => {
	const double = await startDouble();
	double.onRequest = ({ method, path }) => {
		// So that the tests needn't run first.
		if (path.startsWith("/upload/"))
			return new Fault(403, "accessDenied", "bigquery.jobs.create denied");
		return method === "DELETE" && /\/datasets\/\w+$/.test(path)
			? new Fault(403, "accessDenied", "bigquery.datasets.delete denied")
			: undefined;
	};
	const { exitCode, said } = await checklist(double);
	expect(exitCode, said).toBe(1);
	const [dataset] = double.warehouse.datasets.keys();
	const last = said.slice(said.indexOf("could not be deleted"));
	expect(last).toContain("bigquery.datasets.delete denied");
	expect(last).toContain(
		`bq rm --recursive --force --dataset test-project:${dataset}`,
	);
});

function leavesNothing(double: BigQueryDouble): void {
	expect([...double.warehouse.datasets.keys()]).toEqual([]);
}
