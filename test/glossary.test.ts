import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readResourceSchemas } from "../crds/resource-schema.ts";

/* docs/glossary.md has the words of the resources and of the code. */

const root = join(import.meta.dirname, "..");
const textOf = (file: string) => readFileSync(join(root, file), "utf8");
const [kinds, words] = textOf("docs/glossary.md")
	.split("\n## ")
	.slice(1)
	.map(rowsOf) as [string[][], string[][]];

test("the glossary has each kind of resource with its short names, and no other", () => {
	const told = kinds.map(([kind, short]) => `${kind} ${short}`);
	const real = readResourceSchemas().map(
		({ kind, shortNames }) => `${kind} \`${shortNames.join("`, `")}\``,
	);
	expect(told.toSorted()).toEqual(real.toSorted());
});

test.each(words)("the glossary's word %s (%s) is a word of %s", (...row) => {
	const [word, , place] = row;
	// `seal key` is `sealKey`, `SealKey` or `SEAL_KEY` in code.
	const inCode = word!.replaceAll(" ", "[ _-]?");
	expect(textOf(place!.replaceAll("`", ""))).toMatch(RegExp(inCode, "i"));
});

test("the glossary's words stand in their order", () => {
	const own = words.map(([word]) => word!);
	expect(own.length).toBeGreaterThan(15);
	expect(own).toEqual(own.toSorted());
});

test.each(["README.md", "docs/how-it-works.md", "CONTRIBUTING.md"])(
	"%s links to the glossary",
	(page) => expect(textOf(page)).toMatch(/\]\([\w/]*glossary\.md\)/),
);

/** The cells of a section's table. */
function rowsOf(section: string): string[][] {
	return section
		.split("\n")
		.filter((line) => line.startsWith("| "))
		.slice(2)
		.map((line) =>
			line
				.slice(2, -2)
				.split(" | ")
				.map((cell) => cell.trim()),
		);
}
