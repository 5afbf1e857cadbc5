/**
 * What a server said, for people who may know neither its addresses nor those that it speaks with: each URL, IP address,
 * `host:port` and name of a Service becomes `<address>`. What is longer than a paragraph is cut.
 */
export function publicWords(text: string, maxLength = 1_000): string {
	const words = addresses.reduce(
		(rest, address) => rest.replace(address, "<address>"),
		text,
	);
	return cutToLength(words.replace(/\s+/g, " ").trim(), maxLength);
}

/** The longer forms come first, so that nothing of a URL is left. */
const addresses = [
	// A sentence's punctuation and Go's quotes end a URL.
	/\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>`]*[^\s"'<>`.,:;)]/gi,
	// Go's resolver names a host without a port.
	/(?<=\blookup )[\w-]+(?:\.[\w-]+)*/g,
	/\[[0-9a-f:.%]*:[0-9a-f:.%]*\](?::\d+)?/gi,
	/(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?::\d+|\/\d+)?(?![\w.]*\w)/g,
	// IPv6: at least two colons, and a group of hexadecimal digits beside a double colon, or eight groups.
	/(?<![\w:])(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}(?![\w:])/gi,
	/(?<![\w:])(?:[0-9a-f]{1,4}:)*(?:[0-9a-f]{1,4})?::(?:[0-9a-f]{1,4}:)*[0-9a-f]{1,4}(?![\w:])/gi,
	/(?<![\w.-])(?=[\w.-]*[a-z])[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?:\d{2,5}(?![\w-]|:\d)/gi,
	// A Service's name, but not a webhook's that begins like one.
	/(?<![\w.-])(?:[a-z0-9-]+\.)+svc(?:\.[a-z0-9-]+)*(?![\w-])/gi,
];

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
