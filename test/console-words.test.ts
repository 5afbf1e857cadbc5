import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const files = globSync("console/**/*.{ts,tsx}", {
	cwd: root,
	exclude: ["console/{dist,messages,node_modules}/**"],
}).sort();

test("what people read in the console stands in its files of words, so that it can be translated", () => {
	const shown = files
		.filter((file) => /^[^.]*\.tsx?$/.test(file))
		.flatMap((file) => {
			const text = readFileSync(join(root, file), "utf8")
				.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "")
				// Names of classes, in which words stand side by side.
				.replaceAll(/\bclass=("[^"]*"|\{[^{}]*(\{[^{}]*\}[^{}]*)*\})/g, "");
			return [...text.matchAll(sentence), ...text.matchAll(betweenTags)].map(
				([found]) => `${file}: ${found}`,
			);
		})
		.filter((one) => !/var\(--|tidemill events replay/.test(one));
	expect(shown).toEqual([]);
});

/** Two words side by side in quotes. */
const sentence = /(["`])[A-Za-z][^"`\n]*?\b[A-Za-z]{2,} [a-z]{2,}[^"`\n]*\1/g;
/** A word that JSX has as it is. */
const betweenTags = /(?<=[^=]>)\s*[A-Za-z]{2,}[\w ,.’']*(?=<\/)/g;
