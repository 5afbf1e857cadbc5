import type { Destination } from "../../crds/generated/types.ts";
import { label } from "../../crds/labels.ts";
import type { Secret } from "../../kube/kinds.ts";
import type { Reason } from "../reconcile/reasons.ts";

export interface DestinationProblem {
	reason: Reason<"Destination">;
	message: string;
}

/**
 * Why a BigQuery Destination isn't even checked; undefined when it is.
 * @param secret what `credentials.secretRef` names, with its label or without; undefined when there is none.
 * @param endpoints the addresses that `apiEndpoint` may be: events and tokens are sent there.
 */
export function bigQueryProblem(
	{ metadata, spec }: Destination,
	secret: Secret | undefined,
	endpoints: string[],
): DestinationProblem | undefined {
	const { apiEndpoint, stagingBucket, credentials } = spec.bigQuery!;
	if (apiEndpoint && !endpoints.includes(apiEndpoint.replace(/\/+$/, "")))
		return {
			reason: "EndpointNotAllowed",
			message: `spec.bigQuery.apiEndpoint ${apiEndpoint} is not allowed here. Remove it to use Google's own, or have TIDEMILL_BIGQUERY_ENDPOINTS of the operator name it.`,
		};
	if (stagingBucket)
		return {
			reason: "UnsupportedStagingBucket",
			message:
				"This version of Tidemill uploads data directly. Remove spec.bigQuery.stagingBucket.",
		};
	if (!credentials) return undefined;

	const { name, key } = credentials.secretRef;
	const { namespace } = metadata;
	if (!secret)
		return {
			reason: "SecretNotFound",
			message: `There is no Secret "${name}" in namespace "${namespace}". Create it with the label ${label.use}: "true".`,
		};
	if (secret.metadata.labels?.[label.use] !== "true")
		return {
			reason: "SecretNotLabelled",
			message: `Secret "${name}" is not used, since it lacks the label ${label.use}: "true". Run: kubectl label secret ${name} ${label.use}=true -n ${namespace}`,
		};
	const value = secret.data?.[key];
	if (value === undefined)
		return {
			reason: "SecretKeyNotFound",
			message: `Secret "${name}" has no key "${key}". Add it, or correct spec.bigQuery.credentials.secretRef.key.`,
		};
	if (isServiceAccountKey(value)) return undefined;
	return {
		reason: "CredentialsInvalid",
		message: `Key "${key}" of Secret "${name}" is not the JSON key of a Google service account. Put there what "gcloud iam service-accounts keys create" writes.`,
	};
}

/** Google's library takes other kinds too, some of which read files and call addresses of their author's choice. */
function isServiceAccountKey(base64: string): boolean {
	try {
		const key: unknown = JSON.parse(Buffer.from(base64, "base64").toString());
		const { type, client_email, private_key } = key as Record<string, unknown>;
		return (
			type === "service_account" &&
			typeof client_email === "string" &&
			typeof private_key === "string"
		);
	} catch {
		return false;
	}
}
