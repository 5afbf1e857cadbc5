/*
 * How providers write signatures. While a secret rotates, some repeat the signature (`v1=A,v1=B`, `v1=A,B`), some the whole set with
 * its time (`t=1,v1=A t=2,v1=B`), and some the header, whose values node:http joins with a comma (RFC 9110 §5.3).
 */

/** Signatures that one time was signed with. */
export interface SignatureSet {
	/** As it was sent; undefined if no time stands beside them. */
	time: string | undefined;
	texts: string[];
}

/** Longer than any list in a header, which a body's is read as. */
export const maxListLength = 16 * 1024;

/** Of those that a request presents. Each is compared with what each secret makes of each time. */
export const maxSignatures = 16;

/** Of the sets: providers rotate from one secret to another. Each is an HMAC of the whole body with each secret. */
const maxTimes = 2;

/** The texts of a list, such as `A,B`, after the prefix: it stands before each, or before the first. */
export function textsIn(list: string, prefix = ""): string[] {
	// What nearly every sender sends, without the work of a list.
	if (list.startsWith(prefix) && !/[\s,;"]/.test(list))
		return list.length > prefix.length ? [list.slice(prefix.length)] : [];
	// Base64 in a body may be broken into lines (RFC 2045 §6.8).
	const unbroken = list.replace(/[\r\n]+/g, "");
	if (prefix === "") return separate(unbroken);
	// A prefix may hold what separates texts, such as `v1,` or `hmac `.
	const start = new RegExp(
		`(?<=^|[\\s,;]|[\\s,;]"|^")${RegExp.escape(prefix)}`,
	);
	const [, ...lists] = unbroken.split(start);
	return lists.flatMap(separate);
}

function separate(list: string): string[] {
	return list
		.split(/[\s,;]+/)
		.map((text) => text.replace(/^"|"$/g, ""))
		.filter((text) => text !== "");
}

/** Ends a part: a comma or a semicolon, or white space before another part's name. */
const separator = /[,;]|\s(?=[\w-]{1,32}=[^=,;\s])/;
const partName = /^[\w-]{1,32}$/;

interface NamedParts {
	/** Of the signatures' parts. */
	name: string;
	/** Of the part that holds the time they were signed at. */
	timeName?: string | undefined;
	/** Before the signature in its part. */
	prefix?: string | undefined;
}

/**
 * The sets in a header of named parts, such as `t=1,v1=A,v1=B` or `ts=1;h1=A`. A part without a name has the one before it.
 * At most one set for each of the first two times, or one without a time.
 */
export function setsIn(
	header: string,
	{ name, timeName, prefix }: NamedParts,
): SignatureSet[] {
	// One alone, as most senders write it.
	if (header.startsWith(`${name}=`) && !/[\s,;"]/.test(header))
		return setOf(undefined, [header.slice(name.length + 1)], prefix);
	const found: SignatureSet[] = [];
	let set: SignatureSet | undefined;
	let current = "";
	let isTimeLast = false;
	for (const { named, value } of partsOf(header)) {
		current = named ?? current;
		const isTime = named !== undefined && named === timeName;
		if (!isTime && current !== name) continue;
		const isNext = set?.time !== undefined && (isTime || isTimeLast);
		if (!set || isNext) {
			set = { time: undefined, texts: [] };
			found.push(set);
		}
		if (isTime) {
			isTimeLast = set.texts.length > 0;
			set.time = unquoted(value);
		} else set.texts.push(value);
	}
	const sets = found.length > 1 ? byTime(found) : found;
	return sets.flatMap(({ time, texts }) => setOf(time, texts, prefix));
}

function setOf(
	time: string | undefined,
	lists: readonly string[],
	prefix: string | undefined,
): SignatureSet[] {
	const texts = textsIn(lists.length === 1 ? lists[0]! : lists.join(), prefix);
	return texts.length > 0 ? [{ time, texts }] : [];
}

/** The first part with this name; undefined without one. */
export function partIn(header: string, name: string): string | undefined {
	const part = partsOf(header).find(({ named }) => named === name);
	return part && unquoted(part.value);
}

interface Part {
	/** Undefined if it goes on with the one before. */
	named: string | undefined;
	value: string;
}

function partsOf(header: string): Part[] {
	// White space is what makes parts hard to tell apart.
	const pieces = header.split(/[\s;]/.test(header) ? separator : ",");
	return pieces.map((piece) => {
		const text = piece.trim();
		const at = text.indexOf("=");
		const value = text.slice(at + 1).trimStart();
		const named = text.slice(0, Math.max(at, 0)).trimEnd();
		// What is all padding is the end of Base64, and no name.
		return partName.test(named) && value !== "" && !value.startsWith("=")
			? { named, value }
			: { named: undefined, value: text };
	});
}

function unquoted(value: string): string {
	return value.startsWith('"') ? value.replace(/^"(.*)"$/, "$1") : value;
}

function byTime(sets: readonly SignatureSet[]): SignatureSet[] {
	const times = [...new Set(sets.flatMap(({ time }) => time ?? []))];
	// What lacks a time has the only one that there is.
	const only = times.length === 1 ? times[0] : undefined;
	return times.slice(0, maxTimes).map((time) => ({
		time,
		texts: sets
			.filter((set) => (set.time ?? only) === time)
			.flatMap(({ texts }) => texts),
	}));
}

/** The bytes of a signature; undefined for a text that isn't one. Base64 has either alphabet, and padding or none (RFC 4648 §3.2, §5). */
export function signatureBytes(
	text: string,
	encoding: "hex" | "base64",
): Buffer | undefined {
	return forms[encoding].test(text) ? Buffer.from(text, encoding) : undefined;
}

const forms = {
	hex: /^(?:[0-9a-f]{2})+$/i,
	base64: /^[A-Za-z0-9+/_-]+={0,2}$/,
};
