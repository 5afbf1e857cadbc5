import { globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { warehouses } from "../../packages/warehouses/registry.ts";

const root = join(import.meta.dirname, "../..");

/** What the tests of a type of warehouse prove, as pages. */
const proven: [path: string, text: string][] = [];
for (const file of globSync(
	`test/support/examples/{${folders().join(",")}}/pages.ts`,
	{
		cwd: root,
	},
).toSorted())
	proven.push(...(await import(join(root, file))).pages());

/** The pages of the types of warehouse: of each a copy of its docs.md, where the site and its links have it. */
export function warehousePages(): [path: string, text: string][] {
	const written = globSync(
		`packages/warehouses/{${folders().join(",")}}/docs.md`,
		{
			cwd: root,
		},
	).toSorted();
	return [
		...written.map((file): [string, string] => {
			const page = readFileSync(join(root, file), "utf8");
			const [title, ...rest] = page
				.replaceAll("](../../../docs/", "](")
				.split("\n");
			const comment = `<!-- Copied by "npm run generate" from ${file}. Edit that, not this page. -->`;
			return [
				`docs/${basename(dirname(file))}.md`,
				[title, "", comment, ...rest].join("\n"),
			];
		}),
		...proven,
	];
}

function folders(): string[] {
	// A pattern in braces needs two.
	return [...warehouses.keys(), "-"].map((type) => type.toLowerCase());
}
