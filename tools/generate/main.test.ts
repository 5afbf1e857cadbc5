import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { generatedFiles } from "./main.ts";

const root = join(import.meta.dirname, "../..");
const files = generatedFiles();

test.each(files)("%s is what npm run generate writes", (path, text) => {
	expect(readFileSync(join(root, path), "utf8")).toBe(text);
});

const handWritten = "docs/reference/settings.md";

test("no file of an earlier generator is left behind", () => {
	const found = globSync(["{api,crds}/generated/*", "docs/reference/*.md"], {
		cwd: root,
	});
	const listed = files.map(([path]) => path);
	expect([...listed, handWritten]).toEqual(expect.arrayContaining(found));
});
