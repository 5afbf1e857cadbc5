import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import pino from "pino";
import { type BigQueryInput, jobEnv } from "../../contracts/job.ts";
import { parseServiceAccountKey } from "../../contracts/service-account-key.ts";
import type { JobContext } from "../../ingest/job/process.ts";
import { BigQueryDataset } from "../../ingest/load/bigquery/dataset.ts";
import {
	googleAccount,
	scope,
} from "../../ingest/load/bigquery/rest/google-account.ts";
import { GoogleRefusal } from "../../ingest/load/bigquery/rest/google-refusal.ts";
import { RestClient } from "../../ingest/load/bigquery/rest/rest-client.ts";
import { openDestination } from "../../ingest/load/destination-by-type.ts";

/** What one run of `make test-bigquery` works in: a dataset of its own in somebody's project. */
export interface Trial {
	projectId: string;
	dataset: string;
	location: string;
	/** Undefined for Google's own address. */
	endpoint: string | undefined;
	stagingBucket: string | undefined;
	kmsKeyName: string | undefined;
}

/** The only table that is loaded through the bucket. */
export const stagedTable = "staged";

const datasetVariable = "TIDEMILL_BIGQUERY_DATASET";

/** Undefined if the environment names no project. Without a dataset of a run that goes on, it has a new name. */
export function trialOf(env: NodeJS.ProcessEnv): Trial | undefined {
	const { TIDEMILL_BIGQUERY_PROJECT: projectId } = env;
	if (!projectId) return undefined;
	return {
		projectId,
		dataset:
			env[datasetVariable] || `tidemill_test_${randomBytes(6).toString("hex")}`,
		location: env.TIDEMILL_BIGQUERY_LOCATION || "EU",
		endpoint: env.TIDEMILL_BIGQUERY_ENDPOINT || undefined,
		stagingBucket: env.TIDEMILL_BIGQUERY_BUCKET || undefined,
		kmsKeyName: env.TIDEMILL_BIGQUERY_KMS_KEY || undefined,
	};
}

/** The trial that `make test-bigquery` has begun; undefined in every other run of the tests. */
export function trialUnderWay(): Trial | undefined {
	return process.env[datasetVariable] ? trialOf(process.env) : undefined;
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
	const file = process.env[jobEnv.credentials];
	const text = file && (await readFile(file, "utf8").catch(() => undefined));
	return text ? parseServiceAccountKey(text)?.email : undefined;
}

/**
 * Does what the check of a Destination does, and creates the dataset by it.
 * @param scratch a folder for a file. Throws `JobFailure`.
 */
export async function check(
	trial: Trial,
	scratch: string,
	signal: AbortSignal,
): Promise<void> {
	const input = { ...destinationOf(trial), createDataset: true };
	const destination = await openDestination(input, contextOf(signal, scratch));
	await destination.check();
}

/** Deletes the dataset with all that is in it, and what a load has left in the bucket. Does nothing if they are gone. */
export async function remove(trial: Trial): Promise<void> {
	const { projectId, dataset, stagingBucket } = trial;
	const context = contextOf(AbortSignal.timeout(120_000));
	const input = destinationOf(trial);
	const client = new RestClient(
		"BigQuery",
		await googleAccount([scope.bigQuery]),
		input.apiEndpoint ?? "https://bigquery.googleapis.com",
		context,
	);
	try {
		await client.call({
			method: "DELETE",
			path: `/bigquery/v2/projects/${projectId}/datasets/${dataset}`,
			query: { deleteContents: "true" },
			action: `delete dataset ${projectId}.${dataset}`,
		});
	} catch (error) {
		if (!(error instanceof GoogleRefusal) || error.status !== 404) throw error;
	}
	if (!stagingBucket) return;
	const { bucket } = await BigQueryDataset.open(
		{ ...input, stagingBucket },
		context,
	);
	await bucket?.deleteFiles(stagedTable, () => true);
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
