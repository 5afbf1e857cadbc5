import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { jsonSchema } from "../../crds/json-schema.ts";
import { readResourceSchemas } from "../../crds/resource-schema.ts";
import { crdTypesText } from "./crd-types.ts";

const root = join(import.meta.dirname, "../..");

/**
 * crds/*.yaml, each whole: what stands once for several CRDs is put in between two comments, which name the file or the
 * files that hold it:
 *
 *     # From crds/parts/pod-template.yaml: edit that, then "npm run generate".
 *     # End of crds/parts/pod-template.yaml.
 *
 * Everything around the comments is written by hand. kubectl, Helm and the operator read a CRD as it stands.
 */
export function crdFiles(): [path: string, text: string][] {
	return globSync("crds/*.yaml", { cwd: root })
		.toSorted()
		.map((path) => [path, withParts(read(path), textOf)]);
}

/** What the code knows of crds/*.yaml. */
export function schemaFiles(): [path: string, text: string][] {
	const resources = readResourceSchemas();
	const specSchemas = resources.map(({ kind, schema }) => [
		kind,
		jsonSchema(schema.properties!.spec!),
	]);
	const text = JSON.stringify(Object.fromEntries(specSchemas), null, "\t");
	return [
		["crds/generated/spec-schemas.json", `${text}\n`],
		["crds/generated/types.ts", crdTypesText(resources)],
	];
}

/** @param textOf The text of the parts that a comment names. */
export function withParts(
	text: string,
	textOf: (pattern: string) => string,
): string {
	return text.replaceAll(
		/(^( *)# From (\S+): .*\n)(?:[\s\S]*?(^ *# End of \3\.\n))?/gm,
		(_, begin: string, indent: string, pattern: string, end?: string) => {
			if (end === undefined)
				throw new Error(`"# End of ${pattern}." is missing.`);
			return begin + textOf(pattern).replaceAll(/^(?=.)/gm, indent) + end;
		},
	);
}

/** Without the comments that begin a part. */
function textOf(pattern: string): string {
	const paths = globSync(pattern, { cwd: root }).toSorted();
	if (paths.length === 0) throw new Error(`There is no file ${pattern}.`);
	return paths.map((path) => read(path).replace(/^(#.*\n)+/, "")).join("");
}

function read(path: string): string {
	return readFileSync(join(root, path), "utf8");
}

export function writeFiles(files: [path: string, text: string][]): void {
	for (const [path, text] of files) {
		const file = join(root, path);
		mkdirSync(dirname(file), { recursive: true });
		writeFileSync(file, text);
		console.log(path);
	}
}

// Before main.ts is loaded, whose modules read these files as they start.
if (import.meta.main) {
	writeFiles(crdFiles());
	writeFiles(schemaFiles());
}
