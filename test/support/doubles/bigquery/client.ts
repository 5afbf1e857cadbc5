import { BigQuery } from "@google-cloud/bigquery";
import { JWT } from "google-auth-library";
import type { BigQueryDouble } from "./server.ts";

/** Google's own client for Node, of the double. */
export function clientOf({ projectId, keyJson, endpoint }: BigQueryDouble) {
	const { client_email, private_key } = JSON.parse(keyJson);
	const authClient = new JWT({
		email: client_email,
		key: private_key,
		scopes: ["https://www.googleapis.com/auth/bigquery"],
	});
	// There is no token server.
	authClient.useJWTAccessWithScope = true;
	return new BigQuery({ projectId, apiEndpoint: endpoint, authClient });
}
