import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { typescriptTypesText } from "../generate/typescript-types.ts";

const path = join(import.meta.dirname, "../../console/generated/types.ts");

/** Writes the types of the API's bodies for the console, which Git ignores, and returns their text. */
export function writeConsoleTypes(): string {
	const text = typescriptTypesText();
	mkdirSync(dirname(path), { recursive: true });
	// The dev server reloads what is written.
	if (!existsSync(path) || readFileSync(path, "utf8") !== text)
		writeFileSync(path, text);
	return text;
}

if (import.meta.main) writeConsoleTypes();
