/** The name of a resource: an RFC 1123 label of at most 40 characters, as in the CRDs' rules. */
export const resourceNamePattern = "^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$";

/** Leaves room for `-` and a suffix of six characters. */
const maxStemLength = 33;

/**
 * Derives the name of a resource from its display name, or from `fallback` if the display name has no letter or digit that
 * a name may have.
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
			// Separates accents from their letters, to drop them: é → e.
			.normalize("NFKD")
			.replaceAll(/\p{M}/gu, "")
			.toLowerCase()
			.replaceAll(/[^a-z0-9]+/g, "-")
			.slice(0, maxStemLength)
			.replaceAll(/^-|-$/g, "")
	);
}
