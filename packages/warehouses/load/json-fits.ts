/** What a warehouse's type for JSON holds. None takes half of a surrogate pair. */
export interface JsonLimits {
	/** Arrays and objects in each other. */
	maxDepth: number;
	/** Whether strings may have \u0000. */
	takesNul: boolean;
	/** @param number as it is written. */
	takesNumber(number: string): boolean;
}

/** Whether a JSON text can be deeper than this, by SQL that is quicker than a look at the text. */
export function mayBeDeeper(text: string, { maxDepth }: JsonLimits): string {
	const opening = `length(${text}) - length(translate(${text}, '[{', ''))`;
	return `(length(${text}) > ${2 * maxDepth} AND ${opening} > ${maxDepth})`;
}

/** Whether a warehouse can hold a JSON text, which is valid by RFC 8259. */
export function jsonFits(json: string, limits: JsonLimits): boolean {
	let depth = 0;
	for (let at = 0; at < json.length; at++) {
		const code = json.charCodeAt(at);
		if (code === 0x22) {
			const end = endOfFittingString(json, at, limits.takesNul);
			if (end < 0) return false;
			at = end;
		} else if (code === 0x5b || code === 0x7b) {
			if (++depth > limits.maxDepth) return false;
		} else if (code === 0x5d || code === 0x7d) depth--;
		else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
			numberPattern.lastIndex = at;
			const [number = ""] = numberPattern.exec(json) ?? [];
			if (!limits.takesNumber(number)) return false;
			at += Math.max(0, number.length - 1);
		}
	}
	return true;
}

const numberPattern = /-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;

/** Where the string that begins here ends; -1 if it doesn't fit. */
function endOfFittingString(
	json: string,
	from: number,
	takesNul: boolean,
): number {
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
				if (unit === 0 && !takesNul) return -1;
			} else unit = 0x20;
		}
		const isHigh = unit >= 0xd800 && unit < 0xdc00;
		const isLow = unit >= 0xdc00 && unit < 0xe000;
		if (isLow !== high) return -1;
		high = isHigh;
	}
	return -1;
}
