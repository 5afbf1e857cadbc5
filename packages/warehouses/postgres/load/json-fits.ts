/**
 * Whether jsonb can hold a JSON text. It refuses \u0000, and half a surrogate pair (postgresql.org/docs/current/datatype-json.html),
 * numbers beyond numeric (datatype-numeric.html), and texts as deep as the server's stack: with the default max_stack_depth of 2 MB
 * about 6,000 levels, of which we leave room.
 */
export function jsonFits(json: string): boolean {
	let depth = 0;
	for (let at = 0; at < json.length; at++) {
		const code = json.charCodeAt(at);
		if (code === 0x22) {
			const end = endOfFittingString(json, at);
			if (end < 0) return false;
			at = end;
		} else if (code === 0x5b || code === 0x7b) {
			if (++depth > maxDepth) return false;
		} else if (code === 0x5d || code === 0x7d) depth--;
		else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
			numberPattern.lastIndex = at;
			const [number = ""] = numberPattern.exec(json) ?? [];
			if (!numberFits(number)) return false;
			at += Math.max(0, number.length - 1);
		}
	}
	return true;
}

const maxDepth = 1_000;
const numberPattern = /-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;

/** Where the string that begins here ends; -1 if jsonb can't hold it. */
function endOfFittingString(json: string, from: number): number {
	let high = false;
	for (let at = from + 1; at < json.length; at++) {
		const code = json.charCodeAt(at);
		let unit = code;
		if (code === 0x22) return high ? -1 : at;
		if (code === 0x5c) {
			at++;
			if (json[at] === "u") {
				unit = Number.parseInt(json.slice(at + 1, at + 5), 16);
				at += 4;
				if (unit === 0) return -1;
			} else unit = 0x20;
		}
		const isHigh = unit >= 0xd800 && unit < 0xdc00;
		const isLow = unit >= 0xdc00 && unit < 0xe000;
		if (isLow !== high) return -1;
		high = isHigh;
	}
	return -1;
}

/** numeric has up to 131,072 digits before the point and 16,383 after it. */
function numberFits(number: string): boolean {
	if (number.length < 1_000 && !/[eE]/.test(number)) return true;
	const [, whole = "", fraction = "", exponent = "0"] =
		/^-?([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/.exec(number) ?? [];
	const shift = Number(exponent);
	if (fraction.length - shift > 16_383) return false;
	const digits = whole === "0" ? 0 : whole.length;
	return digits + shift <= 131_072 && Math.abs(shift) < 131_072;
}
