/**
 * Makes the code that ajv generates count its steps: each call of a function and each round of a loop burns as many as its
 * text is long, and each error that is kept burns more. What has no loop is as short as its text, so this bounds all of it.
 *
 * It expects the code's names `fuel` and `tools`, and knows what ajv writes: strings in double quotes, no other regular
 * expressions than {@link escapedKey}'s, and braces around every body.
 */
export function meter(code: string): string {
	const output: string[] = [];
	/** Of each open brace: where to charge for it, and where its text began. */
	const open: { charge?: number; from: number }[] = [];
	/** A loop or a function whose body has yet to begin: the parentheses that are open since. */
	let head: { depth: number } | undefined;
	token.lastIndex = 0;
	for (let match = token.exec(code); match; match = token.exec(code)) {
		const [text, key] = match;
		if (key !== undefined) {
			output.push(`tools.escape(${key})`);
			continue;
		}
		if (text.startsWith("/*")) continue;
		if (text === "for" || text === "function" || text === "while") {
			head = { depth: 0 };
		} else if (head && text === "(") head.depth++;
		else if (head && text === ")") head.depth--;
		else if (text === "{") {
			const isBody = head?.depth === 0;
			output.push(text);
			open.push({
				from: match.index,
				...(isBody && { charge: output.push("") - 1 }),
			});
			if (isBody) head = undefined;
			continue;
		} else if (text === "}") {
			const { charge, from } = open.pop()!;
			if (charge !== undefined) {
				const steps = 1 + Math.floor((match.index - from) / charactersPerStep);
				output[charge] = `if((fuel.left-=${steps})<0)fuel.burn(0);`;
			}
		}
		output.push(replacements[text] ?? text);
	}
	return output.join("");
}

const charactersPerStep = 256;

/** Of each error that is kept: for its objects and texts. */
const stepsPerError = 16;

const replacements: Record<string, string> = {
	"errors++": `errors++;fuel.burn(${stepsPerError})`,
	// Both take as long as an object has properties.
	"Object.keys": "tools.keys",
	"Object.assign": "tools.assign",
	// It copies all errors each time that one is added.
	"vErrors.concat(": "tools.join(vErrors,",
};

/** As ajv writes a property's name into a path: its text is as long as the sender likes. */
const escapedKey = String.raw`([\w$]+)\.replace\(/~/g, ?"~0"\)\.replace\(/\\//g, ?"~1"\)`;

const token = new RegExp(
	[
		escapedKey,
		String.raw`"(?:[^"\\]|\\.)*"`,
		String.raw`/\*[^]*?\*/`,
		String.raw`errors\+\+`,
		String.raw`Object\.(?:keys|assign)(?=\()`,
		String.raw`vErrors\.concat\(`,
		// A property may be named `for`.
		String.raw`\.?[\w$]+`,
		"[^]",
	].join("|"),
	"gy",
);
