import type { WarehouseContext } from "../../load/warehouse.ts";
import type { BigQueryInput } from "../input.ts";
import { googleUniverse } from "../service-account-key.ts";
import type {
	BigQueryJob,
	BigQueryTable,
	DatasetResource,
	EncryptionConfiguration,
	TableReference,
} from "./rest/api.ts";
import { GoogleAccount, scope } from "./rest/google-account.ts";
import { BigQueryFailure, GoogleRefusal } from "./rest/google-refusal.ts";
import { RestClient } from "./rest/rest-client.ts";
import { upload } from "./rest/upload.ts";
import { StagingBucket } from "./staging-bucket.ts";

/** The Destination's dataset: its tables and the jobs that write to them. Throws {@link GoogleRefusal}. */
export class BigQueryDataset {
	readonly #client: RestClient;
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
		const account = await GoogleAccount.open(scopes);
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
		this.#client = client;
		this.#input = input;
		this.#context = context;
		this.bucket = bucket;
	}

	/** Returns the dataset, which must be in its location; creates it if the Destination allows. Throws {@link JobFailure}. */
	async ensure(): Promise<DatasetResource> {
		const { projectId, dataset, location, createDataset } = this.#input;
		const encryption = this.encryption();
		const action = `read dataset ${projectId}.${dataset}`;
		let found = await this.#find<DatasetResource>(this.#path(), action);
		if (!found && createDataset)
			found = await this.#create<DatasetResource>(
				`/bigquery/v2/projects/${projectId}/datasets`,
				{
					datasetReference: { projectId, datasetId: dataset },
					location,
					...(encryption && { defaultEncryptionConfiguration: encryption }),
				},
				this.#path(),
				`create dataset ${projectId}.${dataset}`,
			);
		if (!found)
			throw new BigQueryFailure(
				"DatasetMissing",
				`There is no dataset ${projectId}.${dataset}`,
			);
		if (found.location.toLowerCase() !== location.toLowerCase())
			throw new BigQueryFailure(
				"LocationMismatch",
				`Dataset ${projectId}.${dataset} is in ${found.location}, not in ${location}`,
			);
		return found;
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
		return this.#find<BigQueryTable>(this.#table(name), `read table ${name}`);
	}

	/** Leaves an existing table as it is. */
	async createTable(
		name: string,
		table: Omit<BigQueryTable, "tableReference">,
	): Promise<BigQueryTable> {
		return this.#create<BigQueryTable>(
			`${this.#path()}/tables`,
			{ ...table, tableReference: this.reference(name) },
			this.#table(name),
			`create table ${name}`,
		);
	}

	/** @param etag if the table has another, nothing changes and the result is undefined. */
	async patchTable(
		name: string,
		changes: Partial<BigQueryTable>,
		etag?: string,
	): Promise<BigQueryTable | undefined> {
		try {
			return await this.#client.call<BigQueryTable>({
				method: "PATCH",
				path: this.#table(name),
				body: changes,
				...(etag && { headers: { "if-match": etag } }),
				action: `change table ${name}`,
			});
		} catch (error) {
			if (error instanceof GoogleRefusal && error.status === 412)
				return undefined;
			throw error;
		}
	}

	/** With a partition decorator, deletes only the partition. Does nothing if it doesn't exist. */
	async deleteTable(name: string): Promise<void> {
		try {
			await this.#client.call({
				method: "DELETE",
				path: this.#table(name),
				action: `delete table ${name}`,
			});
		} catch (error) {
			if (!isNotFound(error)) throw error;
		}
	}

	/** Whether the account has a permission on a table (cloud.google.com/bigquery/docs/reference/rest/v2/tables/testIamPermissions). */
	async may(permission: string, name: string): Promise<boolean> {
		const { permissions = [] } = await this.#client.call<{
			permissions?: string[];
		}>({
			method: "POST",
			path: `${this.#table(name)}:testIamPermissions`,
			body: { permissions: [permission] },
			action: `ask for ${permission} on table ${name}`,
		});
		return permissions.includes(permission);
	}

	/**
	 * Who has access to a table beyond its dataset's, in words: its IAM policy, and its row access policies if the account may
	 * list them, which roles/bigquery.dataEditor doesn't include.
	 */
	async accessOf(name: string): Promise<string[]> {
		const path = this.#table(name);
		const action = `read who has access to table ${name}`;
		const { bindings = [] } = await this.#client.call<{
			bindings?: { role: string }[];
		}>({ method: "POST", path: `${path}:getIamPolicy`, body: {}, action });
		const policies = await this.#rowAccess(`${path}/rowAccessPolicies`, action);
		return [
			...bindings.map(({ role }) => `its own grants of ${role}`),
			...policies.map((id) => `the row access policy ${id}`),
		];
	}

	async #rowAccess(path: string, action: string): Promise<string[]> {
		try {
			const { rowAccessPolicies = [] } = await this.#client.call<{
				rowAccessPolicies?: {
					rowAccessPolicyReference: { policyId: string };
				}[];
			}>({ method: "GET", path, action });
			return rowAccessPolicies.map(
				({ rowAccessPolicyReference: { policyId } }) => policyId,
			);
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
		return this.#find<BigQueryJob>(this.#job(jobId), `read job ${jobId}`, {
			location: this.#input.location,
		});
	}

	async startJob(
		jobId: string,
		configuration: BigQueryJob["configuration"],
	): Promise<BigQueryJob> {
		return this.#client.call<BigQueryJob>({
			method: "POST",
			path: `/bigquery/v2/projects/${this.#input.projectId}/jobs`,
			body: this.#newJob(jobId, configuration),
			action: `start job ${jobId}`,
		});
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
		const jobs: BigQueryJob[] = [];
		for (let pageToken: string | undefined = ""; pageToken !== undefined; ) {
			const page: { jobs?: BigQueryJob[]; nextPageToken?: string } =
				await this.#client.call({
					method: "GET",
					path: `/bigquery/v2/projects/${this.#input.projectId}/jobs`,
					query: {
						projection: "full",
						stateFilter: ["pending", "running"],
						...(pageToken && { pageToken }),
					},
					action: "list unfinished jobs",
				});
			jobs.push(...(page.jobs ?? []));
			pageToken = page.nextPageToken;
		}
		return jobs;
	}

	/** Asks BigQuery to cancel a job. The job may still succeed. */
	async cancelJob(jobId: string): Promise<void> {
		await this.#client.call({
			method: "POST",
			path: `${this.#job(jobId)}/cancel`,
			query: { location: this.#input.location },
			action: `cancel job ${jobId}`,
		});
	}

	#newJob(
		jobId: string,
		configuration: BigQueryJob["configuration"],
	): BigQueryJob {
		const { projectId, location } = this.#input;
		return { jobReference: { projectId, jobId, location }, configuration };
	}

	#path(): string {
		const { projectId, dataset } = this.#input;
		return `/bigquery/v2/projects/${projectId}/datasets/${dataset}`;
	}

	#table(name: string): string {
		return `${this.#path()}/tables/${encodeURIComponent(name)}`;
	}

	#job(jobId: string): string {
		return `/bigquery/v2/projects/${this.#input.projectId}/jobs/${jobId}`;
	}

	async #find<T>(
		path: string,
		action: string,
		query: Record<string, string> = {},
	): Promise<T | undefined> {
		try {
			return await this.#client.call<T>({ method: "GET", path, query, action });
		} catch (error) {
			if (isNotFound(error)) return undefined;
			throw error;
		}
	}

	async #create<T>(
		collection: string,
		body: object,
		path: string,
		action: string,
	): Promise<T> {
		try {
			return await this.#client.call<T>({
				method: "POST",
				path: collection,
				body,
				action,
			});
		} catch (error) {
			// Another client created it, or our own earlier request whose answer was lost.
			if (!(error instanceof GoogleRefusal) || error.reason !== "duplicate")
				throw error;
			return this.#client.call<T>({ method: "GET", path, action });
		}
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

function isNotFound(error: unknown): boolean {
	return error instanceof GoogleRefusal && error.status === 404;
}
