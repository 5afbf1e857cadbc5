import type { WarehouseContext } from "../../load/warehouse.ts";
import type { BigQueryInput } from "../input.ts";
import { GoogleRefusal } from "./rest/google-refusal.ts";
import type { RestClient } from "./rest/rest-client.ts";
import { upload } from "./rest/upload.ts";

/**
 * The Destination's bucket in Cloud Storage, which load jobs read their files from
 * (cloud.google.com/storage/docs/json_api/v1). Objects are named by table and job, so what a killed load leaves is found by
 * the next one. Throws {@link GoogleRefusal}.
 */
export class StagingBucket {
	readonly #client: RestClient;
	readonly #input: BigQueryInput;
	readonly #bucket: string;
	readonly #context: WarehouseContext;

	constructor(
		client: RestClient,
		input: BigQueryInput,
		bucket: string,
		context: WarehouseContext,
	) {
		this.#client = client;
		this.#input = input;
		this.#bucket = bucket;
		this.#context = context;
	}

	/** Stores a job's file, and returns its URI for the job. */
	async upload(table: string, jobId: string, file: string): Promise<string> {
		const name = this.#name(table, jobId);
		const uri = `gs://${this.#bucket}/${name}`;
		await upload(
			this.#client,
			{
				path: `/upload/storage/v1/b/${this.#bucket}/o`,
				query: { name },
				resource: { name, contentType: "application/octet-stream" },
				name: `object ${uri}`,
			},
			file,
			this.#context,
		);
		return uri;
	}

	/** Deletes files of a table's jobs. */
	async deleteFiles(
		table: string,
		isToDelete: (jobId: string) => boolean,
	): Promise<void> {
		const prefix = this.#name(table, "");
		for (let pageToken: string | undefined = ""; pageToken !== undefined; ) {
			const page: { items?: { name: string }[]; nextPageToken?: string } =
				await this.#client.call({
					method: "GET",
					path: this.#objects(),
					query: {
						prefix,
						fields: "items(name),nextPageToken",
						...(pageToken && { pageToken }),
					},
				});
			for (const { name } of page.items ?? [])
				if (isToDelete(name.slice(prefix.length))) await this.#delete(name);
			pageToken = page.nextPageToken;
		}
	}

	async #delete(name: string): Promise<void> {
		try {
			await this.#client.call({
				method: "DELETE",
				path: `${this.#objects()}/${encodeURIComponent(name)}`,
			});
		} catch (error) {
			if (!(error instanceof GoogleRefusal) || error.status !== 404)
				throw error;
		}
	}

	#objects(): string {
		return `/storage/v1/b/${this.#bucket}/o`;
	}

	#name(table: string, jobId: string): string {
		const { projectId, dataset } = this.#input;
		return `tidemill/${projectId}.${dataset}.${table}/${jobId}`;
	}
}
