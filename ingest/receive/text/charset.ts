/** Single-byte and East Asian encodings whose ASCII bytes are ASCII, as the Encoding standard names them. */
const encodings = new Set([
	...["ibm866", "koi8-r", "koi8-u", "macintosh", "x-mac-cyrillic"],
	...[2, 3, 4, 5, 6, 7, 8, "8-i", 10, 13, 14, 15, 16].map(
		(part) => `iso-8859-${part}`,
	),
	"windows-874",
	...[0, 1, 2, 3, 4, 5, 6, 7, 8].map((page) => `windows-125${page}`),
	...["gbk", "gb18030", "big5", "euc-jp", "shift_jis", "euc-kr"],
]);

/**
 * Names that mean ASCII, of which UTF-8 has all: the Encoding standard takes some of them for windows-1252. And names of UTF-8
 * that it doesn't have (iana.org/assignments/character-sets; MySQL's).
 */
const ascii = new Set([
	...["us-ascii", "ascii", "us", "iso646-us", "iso_646.irv:1991", "iso-ir-6"],
	...["ansi_x3.4-1968", "ansi_x3.4-1986", "ibm367", "cp367", "csascii"],
	...["csutf8", "utf8mb3", "utf8mb4", "cp65001"],
]);

/** Code pages whose encodings the Encoding standard knows by other names (learn.microsoft.com/windows/win32/intl/code-page-identifiers). */
const codePages: Record<string, string> = {
	874: "windows-874",
	932: "shift_jis",
	936: "gbk",
	949: "euc-kr",
	950: "big5",
	54936: "gb18030",
};

/**
 * The encoding that a sender calls so; undefined for one that isn't decoded: those that don't keep ASCII, whose bytes could pass
 * for something else on the way (UTF-16, ISO-2022-JP), and those that nobody writes.
 */
export function encodingOf(label: string): string | undefined {
	const name = label.trim().toLowerCase();
	if (ascii.has(name)) return "utf-8";
	const [, page] = /^(?:cp|ms|windows-?)(\d+)$/.exec(name) ?? [];
	try {
		const { encoding } = new TextDecoder(
			codePages[page ?? ""] ?? name.replaceAll("_", "-"),
		);
		return encoding === "utf-8" || encodings.has(encoding)
			? encoding
			: undefined;
	} catch {
		return undefined;
	}
}

/** Decodes text in pieces. Throws a TypeError for bytes that aren't text of the encoding: nothing is replaced. */
export function strictDecoder(
	encoding: string,
): (bytes?: Uint8Array, stream?: boolean) => string {
	const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true });
	return (bytes, stream = false) => {
		const text = decoder.decode(bytes, { stream });
		// biome-ignore lint/suspicious/noControlCharactersInRegex: ICU exchanges three control characters, as IBM's code page 943 does; the Encoding standard doesn't.
		const swapped = /[\x1a\x1c\x7f]/g;
		return encoding === "shift_jis"
			? text.replace(swapped, (one) => exchanged[one]!)
			: text;
	};
}

const exchanged: Record<string, string> = {
	"\x1c": "\x1a",
	"\x7f": "\x1c",
	"\x1a": "\x7f",
};
