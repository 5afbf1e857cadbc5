import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
	documented,
	type Piece,
	piecesOf,
} from "./support/examples/documented.ts";
import { exceptions } from "./support/examples/documented-exceptions.ts";

/*
 * Each piece of code that a page has people copy is taken word for word by a test: by a call of `documented` with its address,
 * or as a part of an example's file. What can't run is in a list with its reason.
 */

const root = join(import.meta.dirname, "..");
const exclude = ["**/{node_modules,dist}/**", ".tidemill/**"];
const read = (pattern: string) =>
	globSync(pattern, { cwd: root, exclude }).map((file) =>
		readFileSync(join(root, file), "utf8"),
	);
const pages =
	"{{README,docs/**/*,clients/*/README,charts/*/README}.md,examples/**/*.{sql,py,yaml}}";
const pieces = globSync(pages, { cwd: root, exclude })
	.flatMap(piecesOf)
	// Pictures, what programs print, and what was tried once.
	.filter(
		({ page, language }) =>
			language !== "text" && !page.startsWith("docs/decisions/"),
	);

const tests = read("{test,packages,cli}/**/*.{ts,py}");
const calls = tests.flatMap((text) =>
	[...text.matchAll(/\bdocumented(?:Text)?\(\s*"([^"]+)"/g)].map(
		([, address]) => address!,
	),
);
/** Some pages are copies of others. */
const taken = new Set(calls.flatMap(documented).map(({ text }) => text));
const excepted = exceptions.flatMap(({ at }) => documented(at));
const listed = new Set(excepted.map(({ text }) => text));
const examples = read("examples/**/*.{yaml,py}").map(lines);

/** A piece may show a part of an example, and an example be named by what runs. */
function isRun({ page, text }: Piece): boolean {
	if (taken.has(text)) return true;
	if (page.endsWith(".md"))
		return examples.some((example) => example.includes(lines(text)));
	const [folder] = /^examples\/\w+/.exec(page)!;
	return (
		/\.(sql|py)$/.test(page) &&
		[...taken, ...tests].some(
			(each) =>
				each.includes(page) ||
				each.includes(`"${folder}"`) ||
				each.includes(`${folder} `),
		)
	);
}

test("each piece of a page and of an example runs in a test, or is in the list of those that can't", () => {
	expect(pieces.length).toBeGreaterThan(200);
	const left = pieces.filter(
		(piece) => !isRun(piece) && !listed.has(piece.text),
	);
	const told = left.map(
		({ page, heading, language, text }) =>
			`${page}#${heading} ${language}\n${text}`,
	);
	expect(told).toEqual([]);
});

test("the list of those that can't run is short, each says why, and none of them runs", () => {
	expect(excepted.length).toBeLessThanOrEqual(40);
	for (const { at, because } of exceptions)
		expect(because, at).toMatch(/^[A-Z].{20,}\.$/);
	expect(excepted.filter(({ text }) => taken.has(text))).toEqual([]);
});

/** Whole lines, without what is before them. */
function lines(text: string): string {
	return `\n${text.trim().replaceAll(/^\s+/gm, "")}\n`;
}
