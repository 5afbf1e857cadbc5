/** The names and indexes on the way that a JSON Pointer goes (RFC 6901 §4). */
export function pointerParts(pointer: string): string[] {
	return pointer.split("/").slice(1).map(pointerPart);
}

/** What a reference token stands for (RFC 6901 §4): first `~1`, so that `~01` is `~1`. */
export function pointerPart(token: string): string {
	return token.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** The token of a member's name (RFC 6901, section 3). */
export function pointerToken(name: string): string {
	return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
