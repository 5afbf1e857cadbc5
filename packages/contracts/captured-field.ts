/**
 * An event's captured fields are one JSON object, on the way as in the bucket: a header stands there under its name, a query
 * parameter under its name after a question mark, which no header's name has (RFC 9110 §5.1).
 */
export function parameterField(parameter: string): string {
	return `?${parameter}`;
}

/** The query parameter that a captured field holds; undefined for a header. */
export function parameterOf(field: string): string | undefined {
	return field.startsWith("?") ? field.slice(1) : undefined;
}
