import type { Destination } from "../../crds/generated/types.ts";
import { parseServiceAccountKey } from "../../packages/contracts/service-account-key.ts";
import type { Secret } from "../../packages/kube/kinds.ts";
import type { Reason } from "../reconcile/reasons.ts";
import { secretValue } from "../reconcile/secret-ref.ts";

export interface DestinationProblem {
	reason: Reason<"Destination">;
	message: string;
}

/** Where a dataset is if its Destination doesn't say. */
export const defaultLocation = "EU";

/**
 * Why a check of a BigQuery Destination makes no sense.
 * @param secret The Secret that `credentials.secretRef` names, with or without the label; undefined if it doesn't exist.
 * @param endpoints The allowed values of `apiEndpoint` and `storageEndpoint`, which receive events and tokens.
 */
export function bigQueryProblem(
	{ metadata, spec }: Destination,
	secret: Secret | undefined,
	endpoints: string[],
): DestinationProblem | undefined {
	const { apiEndpoint, storageEndpoint, credentials } = spec.bigQuery!;
	for (const [field, url] of Object.entries({ apiEndpoint, storageEndpoint }))
		if (url && !endpoints.includes(url.replace(/\/+$/, "")))
			return {
				reason: "EndpointNotAllowed",
				message: `spec.bigQuery.${field} ${url} is not allowed. Remove it to use Google's own endpoint, or add it to the operator's setting TIDEMILL_BIGQUERY_ENDPOINTS.`,
			};
	if (!credentials) return undefined;

	const { name, key } = credentials.secretRef;
	const found = secretValue(secret, {
		namespace: metadata.namespace!,
		name,
		key,
		field: "spec.bigQuery.credentials.secretRef",
	});
	if ("fault" in found) return found.fault;
	if (parseServiceAccountKey(found.value.toString())) return undefined;
	return {
		reason: "CredentialsInvalid",
		message: `Key "${key}" of Secret "${name}" is not the JSON key of a Google service account. Store the file that "gcloud iam service-accounts keys create" writes.`,
	};
}
