// @google-cloud/bigquery: Google's client for jobs, datasets, tables and their metadata (docs/decisions/0038).
import { BigQuery } from "@google-cloud/bigquery";
import type { RestClient, RestRequest } from "./rest-client.ts";

/**
 * Google's client. What it rejects with is what {@link RestClient.call} throws: its retries are off, and ours know which
 * requests may be repeated.
 */
export function googleClient(projectId: string, client: RestClient): BigQuery {
	const google = new BigQuery({
		projectId,
		apiEndpoint: client.endpoint,
		autoRetry: false,
	});
	// Otherwise BIGQUERY_EMULATOR_HOST would decide where tokens and events go.
	google.baseUrl = `${client.endpoint}/bigquery/v2`;
	const carry = (
		{ method = "GET", uri: path, qs, json, headers = {} }: ClientRequest,
		callback: (error: unknown, body?: unknown) => void,
	) =>
		void client
			.call({
				headers,
				method,
				path,
				query: qs ?? {},
				...(json && { body: json }),
			})
			.then((body) => callback(null, body ?? {}), callback);
	Object.assign(google, { makeAuthenticatedRequest: carry });
	return google;
}

/** A request as the client hands it to its HTTP library. */
interface ClientRequest extends Pick<RestRequest, "headers"> {
	method?: RestRequest["method"];
	uri: string;
	qs?: RestRequest["query"];
	json?: object;
}
