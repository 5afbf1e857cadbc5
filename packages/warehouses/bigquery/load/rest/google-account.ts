import { readFile } from "node:fs/promises";
// google-auth-library: tokens from a service account's key or workload identity. Google's BigQuery client, built on it,
// uploads only by multipart, starts over after each failure, and can't be aborted (docs/decisions/0023).
import { type AuthClient, GoogleAuth, JWT } from "google-auth-library";
import { parseServiceAccountKey } from "../../service-account-key.ts";
import { BigQueryFailure } from "./google-refusal.ts";

/** What tokens are good for (developers.google.com/identity/protocols/oauth2/scopes). */
export const scope = {
	bigQuery: "https://www.googleapis.com/auth/bigquery",
	storage: "https://www.googleapis.com/auth/devstorage.read_write",
} as const;

/** The Job's Google account. Throws {@link JobFailure} CredentialsMissing or CredentialsRefused. */
export async function googleAccount(scopes: string[]): Promise<AuthClient> {
	const keyFile = process.env.GOOGLE_APPLICATION_CREDENTIALS;
	return keyFile ? keyClient(keyFile, scopes) : identityClient(scopes);
}

/** A key comes from an account, so Google's library, which follows what credentials of other kinds say, never sees the file. */
async function keyClient(file: string, scopes: string[]): Promise<AuthClient> {
	const key = parseServiceAccountKey(
		await readFile(file, "utf8").catch(credentialsMissing),
	);
	if (!key)
		throw new BigQueryFailure(
			"CredentialsRefused",
			"The credentials are not the JSON key of a Google service account",
		);
	const { email, privateKey, id } = key;
	const auth = new JWT({
		email,
		key: privateKey,
		...(id !== undefined && { keyId: id }),
		scopes,
	});
	// The key signs its own tokens (AIP-4111), without a token server.
	auth.useJWTAccessWithScope = true;
	return auth;
}

function identityClient(scopes: string[]): Promise<AuthClient> {
	return new GoogleAuth({ scopes }).getClient().catch(credentialsMissing);
}

function credentialsMissing(error: Error): never {
	throw new BigQueryFailure(
		"CredentialsMissing",
		`The Job has no Google credentials: ${error.message}`,
		{ cause: error },
	);
}
