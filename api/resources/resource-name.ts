/** What a resource of Tidemill can be called: an RFC 1123 label of at most 40 characters, as the CRDs' rules say. */
export const resourceNamePattern = "^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$";

/** Room for `-` and a suffix of six characters. */
const maxStemLength = 33;

/**
 * The name that a resource gets when the request gives none: from its display name, in the letters that a name may
 * have; from what it is where nothing is left of that. With a suffix, followed by it.
 */
export function resourceName(
	displayName: unknown,
	fallback: string,
	suffix?: string,
): string {
	const stem = typeof displayName === "string" ? stemOf(displayName) : "";
	return [stem || fallback, suffix].filter(Boolean).join("-");
}

function stemOf(displayName: string): string {
	return (
		displayName
			// An accent becomes a character of its own, which is then left out: é → e.
			.normalize("NFKD")
			.replaceAll(/\p{M}/gu, "")
			.toLowerCase()
			.replaceAll(/[^a-z0-9]+/g, "-")
			.slice(0, maxStemLength)
			.replaceAll(/^-|-$/g, "")
	);
}
