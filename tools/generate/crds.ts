import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { warehouses } from "../../packages/warehouses/registry.ts";

const root = join(import.meta.dirname, "../..");

/**
 * The CRDs, each whole: what stands once for several of them is put in between two comments, which name the file or the files
 * that hold it:
 *
 *     # From crds/parts/pod-template.yaml: edit that, then "npm run generate".
 *     # End of crds/parts/pod-template.yaml.
 *
 * A list in code can be the source as well: see {@link lists}. Everything around the comments is written by hand. kubectl, Helm and the operator read a CRD as it stands.
 */
export function crdFiles(): [path: string, text: string][] {
	return globSync("charts/tidemill/files/crds/*.yaml", { cwd: root })
		.toSorted()
		.map((path) => [path, withParts(read(path), textOf)]);
}

/** The texts that come from a list in code, by the name in the comments. */
const lists: Record<string, () => string> = {
	"packages/warehouses/types.ts(enum)": () =>
		`enum: [${[...warehouses.keys()].join(", ")}]\n`,
	"packages/warehouses/types.ts(rules)": () =>
		[...warehouses]
			.map(
				([
					type,
					{ member },
				]) => `- rule: (self.type == '${type}') == has(self.${member})
  message: ${member} is required for type ${type} and not allowed otherwise; null in a merge patch removes it
  fieldPath: .${member}
`,
			)
			.join(""),
};

/**
 * In Markdown the two comments are `<!-- From …: … -->` and `<!-- End of …. -->`.
 * @param textOf The text of the parts that a comment names.
 */
export function withParts(
	text: string,
	textOf: (pattern: string) => string,
): string {
	return text.replaceAll(
		/(^( *)(?:#|<!--) From (\S+): .*\n)(?:[\s\S]*?(^ *(?:#|<!--) End of \3\.(?: -->)?\n))?/gm,
		(_, begin: string, indent: string, pattern: string, end?: string) => {
			if (end === undefined)
				throw new Error(`"# End of ${pattern}." is missing.`);
			return begin + textOf(pattern).replaceAll(/^(?=.)/gm, indent) + end;
		},
	);
}

/** Without the comments that begin a part. */
function textOf(pattern: string): string {
	const list = lists[pattern];
	if (list) return list();
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
if (import.meta.main) writeFiles(crdFiles());
