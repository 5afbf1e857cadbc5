import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readResourceSchemas } from "../../crds/resource-schema.ts";
import { codeFiles } from "./code-files.ts";
import { generatedFiles } from "./main.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const tracked = execFileSync("git", ["ls-files", "-z"], {
	cwd: root,
	encoding: "utf8",
	maxBuffer: 1 << 26,
}).split("\0");
const files = generatedFiles();
const paths = files.map(([path]) => path);
const resources = readResourceSchemas();
const plurals = resources.map(({ plural }) => plural);
const kinds = resources.map(({ kind }) => kind);

test.each(files)("%s is what npm run generate writes", (path, text) => {
	expect(read(path)).toBe(text);
});

test("Git keeps of generated files what people read, and what Helm and Argo CD take from Git as it is", () => {
	const others = paths.filter((path) => !path.startsWith("docs/"));
	expect(others.toSorted()).toEqual([
		"charts/tidemill/README.md",
		// Written by hand, but for the parts that several have alike.
		...plurals.map((plural) => `charts/tidemill/files/crds/${plural}.yaml`),
		"charts/tidemill/files/environment.yaml",
		"charts/tidemill/files/nats.conf",
		"charts/tidemill/files/rules.json",
		"charts/tidemill/values.schema.json",
		"examples/argocd/argocd-cm.yaml",
		...kinds.map(
			(kind) =>
				`examples/argocd/resource_customizations/tidemill.dev/${kind}/health.lua`,
		),
	]);
	expect(tracked).toEqual(expect.arrayContaining(paths));
});

test("the code that follows from other files is what it is made of now, and Git ignores it", () => {
	for (const [path, text] of codeFiles()) {
		expect(read(path), path).toBe(text);
		expect(tracked).not.toContain(path);
	}
	expect(tracked.filter((path) => path.includes("/generated/"))).toEqual([]);
});

test("no page of an earlier generator is left behind", () => {
	const written = globSync("docs/**/*.md", {
		cwd: root,
		exclude: ["**/node_modules/**"],
	}).filter((path) => /<!-- .*"npm run generate"/.test(read(path)));
	expect(written.length).toBeGreaterThan(15);
	expect(paths).toEqual(expect.arrayContaining(written));
});
