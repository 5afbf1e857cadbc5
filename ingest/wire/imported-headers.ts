const maxBytes = 60 * 1024;

/**
 * Whether the text is a JSON object of texts. Half of a surrogate pair is valid JSON (RFC 8259 §8.2), but no text for
 * DuckDB and warehouses, and no request has one.
 */
export function areHeaders(text: string): boolean {
	if (Buffer.byteLength(text) > maxBytes) return false;
	try {
		const headers = JSON.parse(text);
		return (
			typeof headers === "object" &&
			headers !== null &&
			!Array.isArray(headers) &&
			Object.entries(headers)
				.flat()
				.every((each) => typeof each === "string" && each.isWellFormed())
		);
	} catch {
		return false;
	}
}
