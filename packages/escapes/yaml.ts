// yaml: writes YAML as people do, and knows which texts older readers take for something else.
import { Document, visit } from "yaml";
import { linesForTerminal } from "./terminal.ts";

/**
 * YAML that every reader takes for the same value and that writes nothing to a terminal. Readers of YAML 1.1, such as kubectl and
 * Python's, take `06:30` and `1_000` for numbers and `on` for true, unless they are quoted.
 * @param replacer as of JSON.stringify.
 */
export function yamlText(
	value: unknown,
	replacer: ((key: unknown, value: unknown) => unknown) | null = null,
): string {
	const document = new Document(value, replacer, {
		compat: "yaml-1.1",
		// The same object in two places would become an anchor, which people don't expect.
		aliasDuplicateObjects: false,
	});
	visit(document, {
		Scalar: (_, node) => {
			const { value } = node;
			// Only a text in double quotes can have escapes.
			if (
				typeof value === "string" &&
				(isStrangeToPython.test(value) || linesForTerminal(value) !== value)
			)
				node.type = "QUOTE_DOUBLE";
		},
	});
	return linesForTerminal(document.toString({ lineWidth: 0 }));
}

/** PyYAML knows no type for a bare `=`, and stops at a tab. */
const isStrangeToPython = /^=$|\t/;
