import type {
	BigQuery,
	Dataset,
	GetJobsOptions,
	Job,
	Table,
	TableMetadata,
} from "@google-cloud/bigquery";
import type { WarehouseContext } from "../../load/warehouse.ts";
import { type BigQueryInput, googleUniverse } from "../definition.ts";
import {
	BigQueryFailure,
	type BigQueryJob,
	type BigQueryTable,
	type DatasetResource,
	type EncryptionConfiguration,
	GoogleRefusal,
	type TableReference,
} from "./rest/google-refusal.ts";
import {
	GoogleAccount,
	googleClient,
	RestClient,
	scope,
	untilStopped,
} from "./rest/rest-client.ts";
import { StagingBucket, upload } from "./rest/upload.ts";

/** The Destination's dataset: its tables and the jobs that write to them. Throws {@link GoogleRefusal}. */
export class BigQueryDataset {
	readonly #client: RestClient;
	readonly #google: BigQuery;
	readonly #dataset: Dataset;
	readonly #input: BigQueryInput;
	readonly #context: WarehouseContext;
	/** Undefined if load jobs get their files with the request that starts them. */
	readonly bucket: StagingBucket | undefined;

	/** Throws {@link JobFailure} CredentialsMissing or CredentialsRefused. */
	static async open(
		input: BigQueryInput,
		context: WarehouseContext,
	): Promise<BigQueryDataset> {
		const { stagingBucket, apiEndpoint, storageEndpoint } = input;
		const scopes = [scope.bigQuery, ...(stagingBucket ? [scope.storage] : [])];
		const opening = GoogleAccount.open(scopes);
		const account = await untilStopped(context.signal, opening);
		requireEndpoint(account.universe, input);
		const bigQuery = new RestClient(
			"BigQuery",
			account,
			apiEndpoint ?? "https://bigquery.googleapis.com",
			context,
		);
		if (!stagingBucket) return new BigQueryDataset(bigQuery, input, context);
		const storage = new RestClient(
			"Cloud Storage",
			account,
			storageEndpoint ?? "https://storage.googleapis.com",
			context,
		);
		const bucket = new StagingBucket(storage, input, stagingBucket, context);
		return new BigQueryDataset(bigQuery, input, context, bucket);
	}

	private constructor(
		client: RestClient,
		input: BigQueryInput,
		context: WarehouseContext,
		bucket?: StagingBucket,
	) {
		const { projectId, dataset } = input;
		this.#client = client;
		this.#google = googleClient(projectId, client);
		this.#dataset = this.#google.dataset(dataset, { projectId });
		this.#input = input;
		this.#context = context;
		this.bucket = bucket;
	}

	/** Returns the dataset, which must be in its location; creates it if the Destination allows. Throws {@link JobFailure}. */
	async ensure(): Promise<DatasetResource> {
		const { projectId, dataset, location, createDataset } = this.#input;
		const encryption = this.encryption();
		const read = () => found<DatasetResource>(this.#dataset.getMetadata());
		let resource = await read();
		if (!resource && createDataset) {
			await created(
				this.#google.createDataset(dataset, {
					location,
					...(encryption && { defaultEncryptionConfiguration: encryption }),
				}),
			);
			resource = await read();
		}
		if (!resource)
			throw new BigQueryFailure(
				"DatasetMissing",
				`There is no dataset ${projectId}.${dataset}`,
			);
		if (resource.location.toLowerCase() !== location.toLowerCase())
			throw new BigQueryFailure(
				"LocationMismatch",
				`Dataset ${projectId}.${dataset} is in ${resource.location}, not in ${location}`,
			);
		return resource;
	}

	/** Of tables; undefined for the dataset's default. */
	encryption(): EncryptionConfiguration | undefined {
		const { kmsKeyName } = this.#input;
		return kmsKeyName === undefined ? undefined : { kmsKeyName };
	}

	/** A job that replaces an encrypted table names its key (reference of JobConfigurationLoad). */
	jobEncryption() {
		const key = this.encryption();
		return key && { destinationEncryptionConfiguration: key };
	}

	reference(tableId: string): TableReference {
		const { projectId, dataset } = this.#input;
		return { projectId, datasetId: dataset, tableId };
	}

	async findTable(name: string): Promise<BigQueryTable | undefined> {
		return found(this.#table(name).getMetadata());
	}

	/** The dataset's tables, and no views, with their labels and little else (cloud.google.com/bigquery/docs/reference/rest/v2/tables/list). */
	async labelledTables(): Promise<
		Pick<BigQueryTable, "tableReference" | "labels">[]
	> {
		const [tables] = await this.#dataset.getTables();
		return tables
			.map(({ metadata }): BigQueryTable => metadata)
			.filter(({ type }) => type === "TABLE");
	}

	/** Leaves an existing table as it is. */
	async createTable(
		name: string,
		table: Omit<BigQueryTable, "tableReference">,
	): Promise<BigQueryTable> {
		const made = this.#dataset.createTable(name, table as TableMetadata);
		if (await created(made)) return (await made)[0].metadata;
		return (await this.#table(name).getMetadata())[0];
	}

	/** @param etag if the table has another, nothing changes and the result is undefined. */
	async patchTable(
		name: string,
		changes: Partial<BigQueryTable>,
		etag?: string,
	): Promise<BigQueryTable | undefined> {
		try {
			// The client makes If-Match of an ETag.
			const change = { ...changes, ...(etag && { etag }) };
			const [table] = await this.#table(name).setMetadata(
				change as Parameters<Table["setMetadata"]>[0],
			);
			return table;
		} catch (error) {
			if (error instanceof GoogleRefusal && error.status === 412)
				return undefined;
			throw error;
		}
	}

	/** With a partition decorator, deletes only the partition. Does nothing if it doesn't exist. */
	async deleteTable(name: string): Promise<void> {
		await found(this.#table(name).delete());
	}

	/** Whether the account has a permission on a table (cloud.google.com/bigquery/docs/reference/rest/v2/tables/testIamPermissions). */
	async may(permission: string, name: string): Promise<boolean> {
		const [{ permissions = [] }] =
			await this.#table(name).testIamPermissions(permission);
		return permissions.includes(permission);
	}

	/**
	 * Who has access to a table beyond its dataset's, in words: its IAM policy, and its row access policies if the account may
	 * list them, which roles/bigquery.dataEditor doesn't include.
	 */
	async accessOf(name: string): Promise<string[]> {
		const [{ bindings }] = await this.#table(name).getIamPolicy();
		const policies = await this.#rowAccess(name);
		return [
			...(bindings ?? []).map(({ role }) => `its own grants of ${role}`),
			...policies.map((id) => `the row access policy ${id}`),
		];
	}

	/** The client has no method for them. */
	async #rowAccess(name: string): Promise<string[]> {
		try {
			const uri = "/rowAccessPolicies";
			const [{ rowAccessPolicies = [] }] = await this.#table(name).request({
				uri,
			});
			return (
				rowAccessPolicies as {
					rowAccessPolicyReference: { policyId: string };
				}[]
			).map(({ rowAccessPolicyReference: { policyId } }) => policyId);
		} catch (error) {
			if (!(error instanceof GoogleRefusal) || error.status !== 403)
				throw error;
			this.#context.log.warn(
				{ reason: error.message },
				"row access policies can't be seen, and go with the table",
			);
			return [];
		}
	}

	async findJob(jobId: string): Promise<BigQueryJob | undefined> {
		return found(this.#job(jobId).getMetadata());
	}

	async startJob(
		jobId: string,
		configuration: BigQueryJob["configuration"],
	): Promise<BigQueryJob> {
		const { location } = this.#input;
		try {
			const [, job] = await this.#google.createJob({
				jobId,
				location,
				configuration,
			});
			return job as BigQueryJob;
		} catch (error) {
			// A job that has failed by the time of the answer, which the client throws.
			const { response } = error as { response?: BigQueryJob };
			if (response?.jobReference) return response;
			throw error;
		}
	}

	/** What a query job has found, page by page (cloud.google.com/bigquery/docs/reference/rest/v2/jobs/getQueryResults). */
	async *resultOf(
		jobId: string,
		pageRows = 1_000,
	): AsyncGenerator<(string | null)[], undefined> {
		const { projectId, location } = this.#input;
		for (let pageToken: string | undefined = ""; pageToken !== undefined; ) {
			const page: QueryPage = await this.#client.call({
				method: "GET",
				path: `/bigquery/v2/projects/${projectId}/queries/${jobId}`,
				query: {
					location,
					maxResults: String(pageRows),
					...(pageToken && { pageToken }),
				},
			});
			for (const { f } of page.rows ?? []) yield f.map(({ v }) => v);
			pageToken = page.pageToken;
		}
	}

	/**
	 * Starts a load job with a file.
	 * @param table whose data it is; the job may write to one of its partitions.
	 * @param beforeStart is called before the request that may start the job. If it throws, no job starts.
	 */
	async startLoad(
		table: string,
		jobId: string,
		configuration: BigQueryJob["configuration"] & { load: object },
		{ file, beforeStart }: { file: string; beforeStart?: () => Promise<void> },
	): Promise<BigQueryJob> {
		const { load } = configuration;
		if (this.bucket) {
			const uri = await this.bucket.upload(table, jobId, file);
			await beforeStart?.();
			const sourceUris = [uri];
			return this.startJob(jobId, {
				...configuration,
				load: { ...load, sourceUris },
			});
		}
		return upload<BigQueryJob>(
			this.#client,
			{
				path: `/upload/bigquery/v2/projects/${this.#input.projectId}/jobs`,
				resource: this.#newJob(jobId, configuration),
				name: `job ${jobId}`,
			},
			file,
			{ ...this.#context, beforeStart },
		);
	}

	/** Unfinished jobs of this Google account. */
	async unfinishedJobs(): Promise<BigQueryJob[]> {
		const [jobs] = await this.#google.getJobs(unfinished as GetJobsOptions);
		return jobs.map(({ metadata }) => metadata);
	}

	/** Asks BigQuery to cancel a job. The job may still succeed. */
	async cancelJob(jobId: string): Promise<void> {
		await this.#job(jobId).cancel();
	}

	#table(name: string): Table {
		return this.#dataset.table(name);
	}

	#job(jobId: string): Job {
		const { location } = this.#input;
		return this.#google.job(jobId, { location });
	}

	#newJob(
		jobId: string,
		configuration: BigQueryJob["configuration"],
	): BigQueryJob {
		const { projectId, location } = this.#input;
		return { jobReference: { projectId, jobId, location }, configuration };
	}
}

/**
 * A key of another cloud is of no use at Google's address, and an address comes from the Destination, which the operator
 * checks, never from the key.
 */
function requireEndpoint(
	universe: string,
	{ apiEndpoint, stagingBucket, storageEndpoint }: BigQueryInput,
): void {
	if (universe === googleUniverse) return;
	const missing = !apiEndpoint
		? `apiEndpoint to https://bigquery.${universe}`
		: stagingBucket && !storageEndpoint
			? `storageEndpoint to https://storage.${universe}`
			: undefined;
	if (missing)
		throw new BigQueryFailure(
			"CredentialsRefused",
			`The key is of the cloud ${universe.slice(0, 100)}, and the Destination calls googleapis.com. Set spec.bigQuery.${missing}, which the operator's setting TIDEMILL_BIGQUERY_ENDPOINTS must include`,
		);
}

interface QueryPage {
	rows?: { f: { v: string | null }[] }[];
	pageToken?: string;
}

/** The client's types have neither the projection nor several states. */
const unfinished: object = {
	projection: "full",
	stateFilter: ["pending", "running"],
};

/** What a request of the client answers; undefined if there is no such thing. */
async function found<T>(request: Promise<T[]>): Promise<T | undefined> {
	try {
		return (await request)[0];
	} catch (error) {
		if (error instanceof GoogleRefusal && error.status === 404)
			return undefined;
		throw error;
	}
}

/** False if another client has created it, or our own earlier request, whose answer was lost. */
async function created(request: Promise<unknown>): Promise<boolean> {
	try {
		await request;
		return true;
	} catch (error) {
		if (error instanceof GoogleRefusal && error.reason === "duplicate")
			return false;
		throw error;
	}
}
