import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { jsonSchema } from "../crds/json-schema.ts";
import { readResourceSchemas } from "../crds/resource-schema.ts";
import { referenceText } from "./reference-text.ts";
import { typesText } from "./types-text.ts";

/** What follows from crds/*.yaml: the text of each generated file, by its path in the repository. */
export function generatedFiles(): Record<string, string> {
	const resources = readResourceSchemas();
	return {
		"crds/generated/types.ts": typesText(resources),
		"crds/generated/spec-schemas.json": json(
			Object.fromEntries(
				resources.map(({ kind, schema }) => [
					kind,
					jsonSchema(schema.properties!.spec!),
				]),
			),
		),
		"docs/reference/resources.md": referenceText(resources),
	};
}

function json(value: unknown): string {
	return `${JSON.stringify(value, null, "\t")}\n`;
}

if (import.meta.main)
	for (const [path, text] of Object.entries(generatedFiles())) {
		const file = join(import.meta.dirname, "..", path);
		mkdirSync(dirname(file), { recursive: true });
		writeFileSync(file, text);
		console.log(path);
	}
