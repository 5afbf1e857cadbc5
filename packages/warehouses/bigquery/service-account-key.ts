/** The cloud that nearly all keys are for. */
export const googleUniverse = "googleapis.com";

/** What signs a token as a Google service account. */
export interface ServiceAccountKey {
	email: string;
	privateKey: string;
	/** Of the key, for the token's header. */
	id?: string;
	/** The domain of the cloud that the key is for (AIP-4111, universe_domain). It names no address that is called. */
	universe: string;
	/** The project whose quota pays for requests (docs.cloud.google.com/docs/quotas/set-quota-project). */
	quotaProject?: string;
}

/**
 * Reads the JSON key of a Google service account; undefined for anything else. Google's library also accepts kinds of
 * credentials that read any file and call any address their author chooses (google.aip.dev/auth/4117). Every other field is
 * ignored, such as `token_uri`, which names an address, too.
 */
export function parseServiceAccountKey(
	text: string,
): ServiceAccountKey | undefined {
	try {
		const key = JSON.parse(text) as Record<string, unknown>;
		const { type, client_email, private_key, private_key_id } = key;
		const { universe_domain, quota_project_id } = key;
		if (
			type !== "service_account" ||
			typeof client_email !== "string" ||
			typeof private_key !== "string"
		)
			return undefined;
		return {
			email: client_email,
			privateKey: private_key,
			...(typeof private_key_id === "string" && { id: private_key_id }),
			universe:
				typeof universe_domain === "string" && universe_domain !== ""
					? universe_domain
					: googleUniverse,
			...(isProject(quota_project_id) && { quotaProject: quota_project_id }),
		};
	} catch {
		return undefined;
	}
}

/** It becomes a header's value. */
function isProject(value: unknown): value is string {
	return (
		typeof value === "string" && /^[a-z0-9][a-z0-9.:-]{1,100}$/.test(value)
	);
}
