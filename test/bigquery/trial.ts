import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import type { BigQuery } from "@google-cloud/bigquery";
import pino from "pino";
import type { JobContext } from "../../ingest/job/process.ts";
import { openWarehouse } from "../../ingest/load/generated/warehouses.ts";
import {
	type BigQueryInput,
	parseServiceAccountKey,
} from "../../packages/warehouses/bigquery/definition.ts";
import { BigQueryDataset } from "../../packages/warehouses/bigquery/load/dataset.ts";
import { GoogleRefusal } from "../../packages/warehouses/bigquery/load/rest/google-refusal.ts";
import {
	GoogleAccount,
	googleClient,
	RestClient,
	scope,
} from "../../packages/warehouses/bigquery/load/rest/rest-client.ts";
import { withFailures } from "../../packages/warehouses/bigquery/load/warehouse.ts";

/** What one run of `make test-bigquery` works in: a dataset in somebody's project. */
export interface Trial {
	projectId: string;
	dataset: string;
	/** Somebody has made the dataset for it, so the account needs no more than a Job's, and the dataset stays. */
	isGiven: boolean;
	location: string;
	/** Undefined for Google's own address. */
	endpoint: string | undefined;
	stagingBucket: string | undefined;
	kmsKeyName: string | undefined;
}

/** The only table that is loaded through the bucket. */
export const stagedTable = "staged";

/** Tells the tests which dataset the command has made. The command itself doesn't read it: it would delete somebody's own. */
const datasetVariable = "TIDEMILL_BIGQUERY_DATASET";

/** Names an empty dataset that somebody has made for trials. */
const givenVariable = "TIDEMILL_BIGQUERY_EMPTY_DATASET";

/** Begins the name of each trial's dataset. Nothing is ever deleted of another. */
const prefix = "tidemill_test_";

/** A trial in the dataset that the environment gives, or in one with a new name. Undefined if it names no project. */
export function newTrial(env: NodeJS.ProcessEnv): Trial | undefined {
	const name = env[givenVariable] || prefix + randomBytes(6).toString("hex");
	return trialIn(name, env);
}

/** The trial that `make test-bigquery` has begun; undefined in every other run of the tests. */
export function trialUnderWay(
	env: NodeJS.ProcessEnv = process.env,
): Trial | undefined {
	const dataset = env[datasetVariable];
	return dataset?.startsWith(prefix) ? trialIn(dataset, env) : undefined;
}

function trialIn(dataset: string, env: NodeJS.ProcessEnv): Trial | undefined {
	const { TIDEMILL_BIGQUERY_PROJECT: projectId } = env;
	if (!projectId) return undefined;
	return {
		projectId,
		dataset,
		isGiven: Boolean(env[givenVariable]),
		location: env.TIDEMILL_BIGQUERY_LOCATION || "EU",
		endpoint: env.TIDEMILL_BIGQUERY_ENDPOINT || undefined,
		stagingBucket: env.TIDEMILL_BIGQUERY_BUCKET || undefined,
		kmsKeyName: env.TIDEMILL_BIGQUERY_KMS_KEY || undefined,
	};
}

/** For the process that goes on with the trial. */
export function environmentOf({ dataset }: Trial): Record<string, string> {
	return { [datasetVariable]: dataset };
}

/** Whether BigQuery itself answers: at its own address, or at one of Private Service Connect, which Google's DNS names. */
export function isGoogle({ endpoint }: Trial): boolean {
	if (endpoint === undefined) return true;
	return (
		URL.canParse(endpoint) &&
		/(^|\.)googleapis\.com$/.test(new URL(endpoint).hostname)
	);
}

/** The dataset as a Destination that doesn't create it. */
export function destinationOf(trial: Trial): BigQueryInput {
	const { projectId, dataset, location, endpoint } = trial;
	return {
		type: "BigQuery",
		projectId,
		dataset,
		location,
		createDataset: false,
		...(endpoint && { apiEndpoint: endpoint }),
		// An emulator has one address for both.
		...(endpoint && !isGoogle(trial) && { storageEndpoint: endpoint }),
	};
}

/** The email of the key in GOOGLE_APPLICATION_CREDENTIALS; undefined for gcloud's login and the like. */
export async function keyEmail(): Promise<string | undefined> {
	const file = process.env.GOOGLE_APPLICATION_CREDENTIALS;
	const text = file && (await readFile(file, "utf8").catch(() => undefined));
	return text ? parseServiceAccountKey(text)?.email : undefined;
}

/** The trial would delete what it didn't make. */
export class DatasetTaken extends Error {
	override name = "DatasetTaken";
}

/** Throws {@link DatasetTaken} if the dataset exists, or if one that was given has tables; and `JobFailure`. */
export async function requireNew(
	trial: Trial,
	signal: AbortSignal,
): Promise<void> {
	const { projectId, dataset } = trial;
	if (!dataset.startsWith(prefix))
		throw new DatasetTaken(
			`${givenVariable} is "${dataset}", but only a dataset whose name begins with ${prefix} is a trial's`,
		);
	const client = await clientOf(trial, contextOf(signal));
	const action = `read dataset ${projectId}.${dataset}`;
	await withFailures(action, async () => {
		if (trial.isGiven) {
			const [tables] = await client.dataset(dataset).getTables();
			if (tables.length === 0) return;
			throw new DatasetTaken(
				`Dataset ${projectId}.${dataset} has tables: ${tables.map(({ id }) => id).join(", ")}`,
			);
		}
		const [exists] = await client.dataset(dataset).exists().catch(gone);
		if (!exists) return;
		throw new DatasetTaken(`Dataset ${projectId}.${dataset} exists already`);
	});
}

/**
 * Does what the check of a Destination does, and creates the dataset by it unless it was given.
 * @param scratch a folder for a file. Throws `JobFailure`.
 */
export async function check(
	trial: Trial,
	scratch: string,
	signal: AbortSignal,
): Promise<void> {
	const input = { ...destinationOf(trial), createDataset: !trial.isGiven };
	const destination = await openWarehouse(input, contextOf(signal, scratch));
	await destination.check();
}

/**
 * Deletes the dataset with all that is in it, or all that is in one that was given, and what a load has left in the bucket. Does nothing if they are gone. Throws if
 * the dataset is no trial's.
 */
export async function remove(trial: Trial): Promise<void> {
	const { projectId, dataset, stagingBucket } = trial;
	if (!dataset.startsWith(prefix))
		throw new Error(`${projectId}.${dataset} is no trial's dataset`);
	const context = contextOf(AbortSignal.timeout(120_000));
	const client = await clientOf(trial, context);
	const made = client.dataset(dataset);
	if (trial.isGiven)
		for (const table of (await made.getTables())[0])
			await table.delete().catch(gone);
	else await made.delete({ force: true }).catch(gone);
	if (!stagingBucket) return;
	const { bucket } = await BigQueryDataset.open(
		{ ...destinationOf(trial), stagingBucket },
		context,
	);
	await bucket?.deleteFiles(stagedTable, () => true);
}

async function clientOf(
	{ projectId, endpoint = "https://bigquery.googleapis.com" }: Trial,
	context: JobContext,
): Promise<BigQuery> {
	const account = await GoogleAccount.open([scope.bigQuery]);
	const client = new RestClient("BigQuery", account, endpoint, context);
	return googleClient(projectId, client);
}

/** For what may not be there. */
function gone(error: unknown): [false] {
	if (error instanceof GoogleRefusal && error.status === 404) return [false];
	throw error;
}

function contextOf(signal: AbortSignal, scratch = tmpdir()): JobContext {
	return {
		log,
		signal,
		scratch,
		warehouse: undefined,
		busyWaitMs: 0,
		onResult: () => undefined,
	};
}

/** Says in plain lines what is tried again. */
const log = pino(
	{ level: "warn" },
	{
		write: (line: string) => {
			const { msg, reason } = JSON.parse(line) as Record<string, string>;
			console.error(`${msg}: ${reason}`);
		},
	},
);
