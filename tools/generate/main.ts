import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readResourceSchemas } from "../../crds/resource-schema.ts";
import { argocdHealthFiles } from "./argocd-health.ts";
import { chartFiles, valuesParts } from "./chart/chart-files.ts";
import { crdFiles, withParts, writeFiles } from "./crds.ts";
import { referenceParts } from "./reference.ts";
import { resourcePages } from "./resources-page.ts";
import { senderPages } from "./sender-pages.ts";
import { warehousePages } from "./warehouse-pages.ts";

const root = join(import.meta.dirname, "../..");

/** Every generated file that Git keeps: its path in the repository and its text. The others are written by code.ts. */
export function generatedFiles(): [path: string, text: string][] {
	return [
		...crdFiles(),
		...argocdHealthFiles(),
		...warehousePages(),
		...chartFiles(),
		...resourcePages(readResourceSchemas()),
		...senderPages(),
		...referencePages(),
	];
}

if (import.meta.main) writeFiles(generatedFiles());

/** The pages that people write around tables of the code. Between two comments stands what has the name in them. */
function referencePages(): [path: string, text: string][] {
	const pages = "{docs/reference/*,docs/quickstart,charts/tidemill/README}.md";
	return globSync(pages, { cwd: root })
		.toSorted()
		.map((path): [string, string] => {
			const text = readFileSync(join(root, path), "utf8");
			return [path, withParts(text, (name) => `\n${partOf(name)}\n`)];
		})
		.filter(([, text]) => text.includes("<!-- From "));
}

function partOf(name: string): string {
	const part = { ...referenceParts, ...valuesParts }[name];
	if (!part) throw new Error(`No part of a page is called "${name}".`);
	return part();
}
