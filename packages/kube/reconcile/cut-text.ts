/** A text of at most so many characters. Like the others here, it ends in an ellipsis where something is missing. */
export function cutToLength(text: string, maxLength: number): string {
	if (text.length <= maxLength) return text;
	// Half a surrogate pair is no text.
	return `${text.slice(0, maxLength - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

/** A text of at most so many bytes of UTF-8. */
export function cutToBytes(text: string, maxBytes: number): string {
	const bytes = Buffer.from(text);
	if (bytes.length <= maxBytes) return text;
	// A character cut in two becomes U+FFFD, which is dropped.
	return `${bytes.toString("utf8", 0, maxBytes - 3).replace(/\uFFFD$/, "")}…`;
}
