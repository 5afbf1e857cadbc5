/** The instant in a UUIDv7 (RFC 9562 §5.7), milliseconds since the epoch. */
export function uuidTimeMs(id: string): number {
	return Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);
}

/** An instant as `tidemill sql` shows it (`2026-11-21 06:08:35.755+00`), milliseconds since the epoch. */
export function shownTimeMs(text: string): number {
	return Date.parse(text.replace(" ", "T").replace(/\+00$/, "Z"));
}
