import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { readResourceSchemas } from "./resource-schema.ts";
import { typesText } from "./types-text.ts";

/** What follows from crds/*.yaml: the text of each generated file, by its path in the repository. */
export function generatedFiles(): Record<string, string> {
	const resources = readResourceSchemas();
	return {
		"crds/generated/types.ts": typesText(resources),
	};
}

if (import.meta.main)
	for (const [path, text] of Object.entries(generatedFiles())) {
		const file = join(import.meta.dirname, "..", path);
		mkdirSync(dirname(file), { recursive: true });
		writeFileSync(file, text);
		console.log(path);
	}
