// On a laptop nothing proves this: it generates everything twice, and tools/generate/main.test.ts has the list of what Git keeps.
import { execFile } from "node:child_process";
import { cp, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { temporaryDirectory } from "./support/servers/test-server.ts";

const root = join(import.meta.dirname, "..");
const run = promisify(execFile);

test("a new field of a CRD changes that file and pages of the reference, and nothing else that Git keeps", async () => {
	const copy = join(await temporaryDirectory("crd-field"), "repository");
	const files = await keptFiles();
	for (const file of files) await cp(join(root, file), join(copy, file));
	await symlink(join(root, "node_modules"), join(copy, "node_modules"));
	const crd = "charts/tidemill/files/crds/pipelines.yaml";
	const text = await readFile(join(copy, crd), "utf8");
	const field = `
                maxRunsPerDay:
                  description: How many Runs this Pipeline may start in a day.
                  type: integer`;
	const spec = /(\n {12}spec:\n(?: {14}.*\n)*? {14}properties:)\n/;
	expect(text).toMatch(spec);
	await writeFile(join(copy, crd), text.replace(spec, `$1${field}\n`));
	const { scripts } = JSON.parse(
		await readFile(join(copy, "package.json"), "utf8"),
	);
	// As npm runs it, with this Node.
	await run("sh", ["-c", scripts.generate], {
		cwd: copy,
		env: {
			...process.env,
			PATH: `${root}/node_modules/.bin:${process.env.PATH}`,
		},
	});
	const changed = [];
	for (const file of files)
		if (await differs(join(root, file), join(copy, file))) changed.push(file);
	expect(changed).toEqual([crd, "docs/reference/pipeline.md"]);
	const types = await readFile(join(copy, "crds/generated/types.ts"), "utf8");
	expect(types).toContain("maxRunsPerDay?: number;");
});

/** What is in Git, or would be. */
async function keptFiles(): Promise<string[]> {
	const listed = ["ls-files", "--cached", "--others", "--exclude-standard"];
	const { stdout } = await run("git", [...listed, "--deduplicate", "-z"], {
		cwd: root,
		maxBuffer: 1 << 26,
	});
	return stdout.split("\0").filter(Boolean).sort();
}

async function differs(one: string, other: string): Promise<boolean> {
	const [before, after] = await Promise.all([readFile(one), readFile(other)]);
	return !before.equals(after);
}
