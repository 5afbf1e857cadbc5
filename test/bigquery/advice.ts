import { GoogleRefusal } from "../../packages/warehouses/bigquery/load/rest/google-refusal.ts";
import { JobFailure } from "../../packages/warehouses/load/failure.ts";
import { DatasetTaken, type Trial } from "./trial.ts";

/**
 * Why a trial could not begin, and what its person does about it: the advice that a Destination's status has is about
 * Kubernetes.
 * @param email of the service account whose key is used; undefined for gcloud's login.
 */
export function adviceOn(
	error: unknown,
	{ projectId, dataset, location, isGiven }: Trial,
	email: string | undefined,
): { reason: string; advice: string } {
	if (error instanceof DatasetTaken)
		return {
			reason: error.message,
			advice:
				"It is left as it is. Without TIDEMILL_BIGQUERY_EMPTY_DATASET, each run takes a new name; with it, name an empty dataset.",
		};
	if (!(error instanceof JobFailure))
		return {
			reason: String((error as Error).stack ?? error),
			advice: "This is a mistake of the checklist. Please report it.",
		};
	const { code, what, cause } = error;
	const reason = `${what} (${code})`;
	const google = cause instanceof GoogleRefusal ? cause : undefined;
	if (
		google?.reason === "accessNotConfigured" ||
		/has not been used in project|has not enabled BigQuery/.test(what)
	)
		return {
			reason,
			advice: `Turn the API on, wait a minute, and run this again:

  gcloud services enable bigquery.googleapis.com --project=${projectId}`,
		};
	if (google?.reason === "notFound" && /Not found: Project/.test(what))
		return {
			reason,
			advice: `TIDEMILL_BIGQUERY_PROJECT is a project's id, which \`gcloud projects list\` shows. It isn't its name.`,
		};
	const member = email ? `serviceAccount:${email}` : "user:<your address>";
	const advice: Partial<Record<typeof code, string>> = {
		CredentialsMissing: `Log in, or name the file with a service account's key:

  gcloud auth application-default login
  export GOOGLE_APPLICATION_CREDENTIALS=key.json`,
		CredentialsRefused: `Log in again, or make the account a new key. GOOGLE_APPLICATION_CREDENTIALS names only keys of service accounts: to use
gcloud's login, unset it.

  gcloud auth application-default login`,
		PermissionDenied: isGiven
			? `Grant the account what it lacks. What a Job needs is enough:

  gcloud projects add-iam-policy-binding ${projectId} --member=${member} --role=roles/bigquery.jobUser
  bq add-iam-policy-binding --member=${member} --role=roles/bigquery.dataEditor ${projectId}:${dataset}`
			: `Grant the account what it lacks. To make a dataset, roles/bigquery.user on the project is enough:

  gcloud projects add-iam-policy-binding ${projectId} --member=${member} --role=roles/bigquery.user`,
		BillingNotEnabled: `Link the project to a billing account. BigQuery's sandbox isn't enough: it deletes days that are older than 60 days.

  gcloud billing projects link ${projectId} --billing-account=<id>`,
		BigQueryUnavailable:
			"Check the network's way to Google (a proxy, a firewall), and run this again.",
		BigQueryRefused: `Correct what BigQuery names. TIDEMILL_BIGQUERY_LOCATION is "${location}".`,
	};
	return {
		reason,
		advice: advice[code] ?? "Correct what BigQuery names, and run this again.",
	};
}
