/**
 * The members of a JSON object, each with its value's text as it stands there: bodies are stored as they were sent, and
 * numbers may have more digits than JavaScript keeps.
 * @param json A JSON text (RFC 8259). Undefined if it is no object. Of repeated names the last counts.
 */
export function rawMembers(json: string): Map<string, string> | undefined {
	let at = skipSpace(json, 0);
	if (json[at] !== "{") return undefined;
	const members = new Map<string, string>();
	at = skipSpace(json, at + 1);
	while (json[at] !== "}") {
		const nameEnd = endOfString(json, at);
		const name: string = JSON.parse(json.slice(at, nameEnd));
		const start = skipSpace(json, skipSpace(json, nameEnd) + 1);
		const end = endOfValue(json, start);
		members.set(name, json.slice(start, end).trimEnd());
		at = json[end] === "," ? skipSpace(json, end + 1) : end;
	}
	return members;
}

function skipSpace(json: string, at: number): number {
	while (" \t\r\n".includes(json[at] ?? "x")) at++;
	return at;
}

/** @param at Where its first quote is. */
function endOfString(json: string, at: number): number {
	for (let end = at + 1; ; end++) {
		if (json[end] === "\\") end++;
		else if (json[end] === '"') return end + 1;
	}
}

/** Where the comma or bracket is that follows the value. */
function endOfValue(json: string, at: number): number {
	let depth = 0;
	for (let end = at; ; end++) {
		const char = json[end]!;
		if (char === '"') end = endOfString(json, end) - 1;
		else if (char === "{" || char === "[") depth++;
		else if ((char === "}" || char === "]") && depth-- === 0) return end;
		else if (char === "," && depth === 0) return end;
	}
}
