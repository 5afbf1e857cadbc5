/** The first character after a string's content, or of an escape in it. */
const special = /["\\]/g;

/**
 * Empties the long strings of JSON that comes in chunks, but for the values of members of some names: what an object is read for
 * may be a few bytes of a megabyte, and all of it as one text would be memory that V8 gives back late.
 * @param kept names without escapes. @param most characters of a string that isn't long.
 */
export function withoutLongStrings(
	kept: ReadonlySet<string>,
	most = 256,
): (chunk: string) => string {
	/** Of the string that is open; undefined between strings. */
	let open: { text: string; isKept: boolean } | undefined;
	let isEscaped = false;
	/** The latest string, and what has followed it. */
	let latest = "";
	let since = "";

	return (chunk) => {
		let out = "";
		let at = 0;
		while (at < chunk.length) {
			if (!open) {
				const quote = chunk.indexOf('"', at);
				const end = quote < 0 ? chunk.length : quote;
				const between = chunk.slice(at, end);
				out += between;
				// A name and its value are two strings with a colon between them.
				since = (since + between).slice(0, 8);
				at = end + 1;
				if (quote >= 0)
					open = {
						text: "",
						isKept: since.trim() === ":" && kept.has(latest),
					};
				continue;
			}
			if (isEscaped) {
				isEscaped = false;
				if (open.isKept || open.text.length <= most) open.text += chunk[at];
				at++;
				continue;
			}
			special.lastIndex = at;
			const found = special.exec(chunk);
			const end = found?.index ?? chunk.length;
			if (open.isKept || open.text.length <= most)
				open.text += open.isKept
					? chunk.slice(at, end)
					: chunk.slice(at, Math.min(end, at + most + 1));
			at = end + 1;
			if (found?.[0] === "\\") {
				isEscaped = true;
				if (open.isKept || open.text.length <= most) open.text += "\\";
			} else if (found) {
				const { text, isKept } = open;
				latest = isKept || text.length <= most ? text : "";
				out += `"${latest}"`;
				since = "";
				open = undefined;
			}
		}
		return out;
	};
}
