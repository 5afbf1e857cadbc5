import { once } from "node:events";
import { readFile } from "node:fs/promises";
// google-auth-library: tokens from a service account's key or workload identity, for Google's client and for uploads.
import { type AuthClient, GoogleAuth, JWT } from "google-auth-library";
import {
	googleUniverse,
	parseServiceAccountKey,
	type ServiceAccountKey,
} from "../../service-account-key.ts";
import { BigQueryFailure } from "./google-refusal.ts";

/** What tokens are good for (developers.google.com/identity/protocols/oauth2/scopes). */
export const scope = {
	bigQuery: "https://www.googleapis.com/auth/bigquery",
	storage: "https://www.googleapis.com/auth/devstorage.read_write",
} as const;

/**
 * The Job's Google account: a key's, or the workload identity. Throws {@link JobFailure} CredentialsMissing or
 * CredentialsRefused.
 */
export class GoogleAccount {
	readonly #open: () => Promise<AuthClient>;
	/** Where the key's project is: `googleapis.com`, unless it is in a cloud of its own. */
	readonly universe: string;
	client: AuthClient;

	static async open(scopes: string[]): Promise<GoogleAccount> {
		const keyFile = process.env.GOOGLE_APPLICATION_CREDENTIALS;
		if (!keyFile) {
			const open = () =>
				new GoogleAuth({ scopes }).getClient().catch(credentialsMissing);
			return new GoogleAccount(open, googleUniverse, await open());
		}
		const key = parseServiceAccountKey(
			await readFile(keyFile, "utf8").catch(credentialsMissing),
		);
		if (!key)
			throw new BigQueryFailure(
				"CredentialsRefused",
				"The credentials are not the JSON key of a Google service account",
			);
		const open = () => Promise.resolve(keyClient(key, scopes));
		return new GoogleAccount(open, key.universe, await open());
	}

	private constructor(
		open: () => Promise<AuthClient>,
		universe: string,
		client: AuthClient,
	) {
		this.#open = open;
		this.universe = universe;
		this.client = client;
	}

	/** The token, and the project whose quota pays for the request. */
	async headers(url: URL): Promise<Record<string, string>> {
		return Object.fromEntries(await this.client.getRequestHeaders(url));
	}

	/** Forgets the token: the next request gets another. */
	async renew(): Promise<void> {
		this.client = await this.#open();
	}
}

/** A key comes from an account, so Google's library, which follows what credentials of other kinds say, never sees the file. */
function keyClient(
	{ email, privateKey, id, quotaProject }: ServiceAccountKey,
	scopes: string[],
): AuthClient {
	const auth = new JWT({
		email,
		key: privateKey,
		...(id !== undefined && { keyId: id }),
		...(quotaProject !== undefined && { quotaProjectId: quotaProject }),
		scopes,
	});
	// The key signs its own tokens (AIP-4111), without a token server.
	auth.useJWTAccessWithScope = true;
	return auth;
}

function credentialsMissing(error: Error): never {
	throw new BigQueryFailure(
		"CredentialsMissing",
		`The Job has no Google credentials: ${error.message}`,
		{ cause: error },
	);
}

/** Google's library takes no AbortSignal: what it waits for goes on, and the process ends without it. */
export async function untilStopped<T>(
	signal: AbortSignal,
	work: Promise<T>,
): Promise<T> {
	const done = new AbortController();
	const stopped = once(signal, "abort", { signal: done.signal });
	try {
		return await Promise.race([
			work,
			stopped.then(() => Promise.reject(signal.reason)),
		]);
	} finally {
		done.abort();
	}
}
