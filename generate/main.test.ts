import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { generatedFiles } from "./main.ts";

test.each(Object.entries(generatedFiles()))(
	"%s follows from the CRDs (npm run generate)",
	(path, text) => {
		const file = join(import.meta.dirname, "..", path);
		expect(readFileSync(file, "utf8")).toBe(text);
	},
);
