import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { importsIn } from "../tools/house/import-graph.ts";
import { readWalks } from "../tools/house/walks.ts";

const root = join(import.meta.dirname, "..");
const walks = readWalks(readFileSync(join(root, "CONTRIBUTING.md"), "utf8"));
const sources = globSync("{api,crds,ingest,operator,packages}/**/*.ts", {
	cwd: root,
});
const imports = new Set(
	importsIn(
		new Map(
			sources.map((path) => [path, readFileSync(join(root, path), "utf8")]),
		),
	).map(({ from, to }) => `${from} → ${to}`),
);

test.each(walks)(
	"no file stands twice in the walk $title, and each is there",
	({ files }) => {
		const all = files.map(({ path }) => path);
		expect(all.filter((path, i) => all.indexOf(path) !== i)).toEqual([]);
		expect(all.filter((path) => !existsSync(join(root, path)))).toEqual([]);
	},
);

test.each(walks)(
	"each file of the walk $title is imported by an earlier one, or its step names the boundary before it",
	({ files }) => {
		const lost = files.filter(
			({ path, boundary }, i) =>
				i > 0 &&
				boundary === undefined &&
				!files.slice(0, i).some((one) => imports.has(`${one.path} → ${path}`)),
		);
		expect(lost).toEqual([]);
	},
);
