/** What signs a token as a Google service account. */
interface ServiceAccountKey {
	email: string;
	privateKey: string;
	/** Of the key, for the token's header. */
	id?: string;
}

/**
 * Reads the JSON key of a Google service account; undefined for anything else. Google's library also accepts kinds of
 * credentials that read any file and call any address their author chooses (google.aip.dev/auth/4117). Every other field is
 * ignored, such as `token_uri` and `universe_domain`, which name addresses too.
 */
export function parseServiceAccountKey(
	text: string,
): ServiceAccountKey | undefined {
	try {
		const key = JSON.parse(text) as Record<string, unknown>;
		const { type, client_email, private_key, private_key_id } = key;
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
		};
	} catch {
		return undefined;
	}
}
