import type { Fuel } from "./metered/fuel.ts";
import { escapeToken } from "./metered/tools.ts";

/*
 * Members of one object with the same name (RFC 8259 §4). JavaScript, Python and Go read the last, and so does everything here; other
 * programs read the first, or refuse the text.
 */

/** At most how many members a JSON text has: colons that may follow a name, of which some stand in strings. */
export function countMembers(text: string): number {
	let members = 0;
	for (let at = text.indexOf(":"); at >= 0; at = text.indexOf(":", at + 1)) {
		const before = text.charCodeAt(at - 1);
		if (before === quote || before <= space) members++;
	}
	return members;
}

const space = 0x20;
const quote = 0x22;

/** JSON Pointers to the members that stand more than once, each of them once. @param text valid JSON. @throws OutOfFuel */
export function repeatedMembers(text: string, fuel: Fuel): string[] {
	const found = new Set<string>();
	const open: Container[] = [];
	token.lastIndex = 0;
	for (let match = token.exec(text); match; match = token.exec(text)) {
		const [all, name] = match;
		fuel.burn(1 + (all.length >> 6));
		const inner = open.at(-1);
		if (name !== undefined) {
			const member: string = JSON.parse(name);
			const { names } = inner!;
			inner!.at = member;
			if (!names!.has(member)) names!.add(member);
			else found.add(pathOf(open, fuel));
		} else if (all === "{") open.push({ names: new Set(), at: "" });
		else if (all === "[") open.push({ at: 0 });
		else if (all === "}" || all === "]") open.pop();
		else if (all === "," && typeof inner!.at === "number") inner!.at++;
	}
	return [...found];
}

/** An open object, or an array. */
interface Container {
	names?: Set<string>;
	/** The member or the element that is read. */
	at: string | number;
}

function pathOf(open: readonly Container[], fuel: Fuel): string {
	const tokens = open.map(({ at }) => String(at));
	for (const each of tokens) fuel.burn(1 + (each.length >> 4));
	return tokens.map((each) => `/${escapeToken(each)}`).join("");
}

/** A member's name, another string, or what opens, ends or parts values. */
const token = /("(?:[^"\\]|\\.)*")[ \t\n\r]*:|"(?:[^"\\]|\\.)*"|[{}[\],]/g;
