import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { equivalents } from "./equivalent.ts";

const root = join(import.meta.dirname, "../..");
/** Stryker prints an expression in one line. */
const inOneLine = (text: string) => text.replace(/\s+/g, "");

test.each(equivalents)(
	"the code has the expression of a mutant that is explained: $file, $original",
	({ file, original }) => {
		const text = readFileSync(join(root, file), "utf8");
		expect(inOneLine(text)).toContain(inOneLine(original));
	},
);
