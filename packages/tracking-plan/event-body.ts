/** Judging takes at least a step for each value, and memory for each before the first step. */
const maxValues = 250_000;

const quote = 0x22;
const comma = 0x2c;
const openBracket = 0x5b;
const backslash = 0x5c;
const openBrace = 0x7b;

/** The value of a JSON text; undefined if it is made of more values than an event may have. @param json valid JSON. */
export function parseBody(json: Uint8Array): { value: unknown } | undefined {
	const text = Buffer.from(json.buffer, json.byteOffset, json.length);
	return hasTooManyValues(text)
		? undefined
		: { value: JSON.parse(text.toString()) };
}

/** A comma or a bracket stands before each value but the first. */
function hasTooManyValues(json: Buffer): boolean {
	if (json.length <= maxValues) return false;
	let values = 1;
	for (let at = 0; at < json.length; at++) {
		const byte = json[at]!;
		if (byte === quote) at = endOfString(json, at);
		else if (byte === comma || byte === openBracket || byte === openBrace)
			values++;
	}
	return values > maxValues;
}

/** Where the string that begins here has its closing quote. */
function endOfString(json: Buffer, from: number): number {
	let at = from + 1;
	while (at < json.length && json[at] !== quote)
		at += json[at] === backslash ? 2 : 1;
	return at;
}
