// On a laptop nothing proves this: it needs what makes images.
import { spawnSync } from "node:child_process";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";

const root = join(import.meta.dirname, "../..");

/** Notes how it is called, and says of itself that it works. */
const standIn = `#!${process.execPath}
const { appendFileSync } = require("node:fs");
const { basename } = require("node:path");
const call = [basename(process.argv[1]), ...process.argv.slice(2)];
appendFileSync(process.env.CALLS, JSON.stringify(call) + "\\n");
`;

/** The calls of the only engine that this machine seems to have, while a script of the project runs. */
async function callsOf(engine: string, script: string): Promise<string[][]> {
	const directory = await mkdtemp(join(tmpdir(), "tidemill-image-"));
	onTestFinished(() => rm(directory, { recursive: true, force: true }));
	for (const name of [engine, "kind", "helm", "kubectl"]) {
		await writeFile(join(directory, name), standIn);
		await chmod(join(directory, name), 0o755);
	}
	const calls = join(directory, "calls");
	await writeFile(calls, "");
	// Nothing else, but for Git, which names the image's labels.
	const git = spawnSync("which", ["git"], { encoding: "utf8" }).stdout.trim();
	await writeFile(join(directory, "git"), `#!/bin/sh\nexec ${git} "$@"\n`);
	await chmod(join(directory, "git"), 0o755);
	spawnSync(process.execPath, [join(root, script)], {
		env: { PATH: directory, HOME: directory, CALLS: calls },
	});
	const lines = (await readFile(calls, "utf8")).trim().split("\n");
	return lines.map((line) => JSON.parse(line) as string[]);
}

/** Fails on what would name another Dockerfile, other ignored files, or another folder for one of its stages. */
function expectOurBuild(call: string[]): void {
	const options = call.filter((word) => word.startsWith("-"));
	const known = ["--build-arg", "--isolation", "--storage-driver", "--tag"];
	expect(options.filter((option) => !known.includes(option))).toEqual([]);
	expect(call.at(-1)).toBe(root);
}

test.each(["docker", "podman", "buildah"])(
	"make image builds this folder by its Dockerfile with %s",
	async (engine) => {
		const makefile = await readFile(join(root, "Makefile"), "utf8");
		expect(makefile).toMatch(
			/^image:.*\n\t@\$\(node\) tools\/image\/build\.ts$/m,
		);
		const calls = await callsOf(engine, "tools/image/build.ts");
		const builds = calls.filter((call) => call.includes("build"));
		expect(builds).toHaveLength(1);
		expectOurBuild(builds[0]!);
	},
);

test("make kind-up builds the same", async () => {
	const makefile = await readFile(join(root, "Makefile"), "utf8");
	expect(makefile).toMatch(/^kind-up:.*\n\t@\$\(node\) local\/kind\.ts$/m);
	const calls = await callsOf("docker", "local/kind.ts");
	const builds = calls.filter((call) => call.includes("build"));
	expect(builds).toHaveLength(1);
	expectOurBuild(builds[0]!);
});

test("a release builds the same", async () => {
	const file = join(root, ".github/workflows/release.yaml");
	const { jobs } = parse(await readFile(file, "utf8"));
	const builds = Object.values<{ steps?: { uses?: string; with: object }[] }>(
		jobs,
	)
		.flatMap(({ steps = [] }) => steps)
		.filter(({ uses }) => uses?.startsWith("docker/build-push-action@"));
	expect(builds).toHaveLength(1);
	// Without `file` and `build-contexts` it is the context's Dockerfile, as it stands.
	expect(Object.keys(builds[0]!.with).sort()).toEqual([
		"build-args",
		"context",
		"platforms",
		"provenance",
		"push",
		"sbom",
		"tags",
	]);
	expect(builds[0]!.with).toMatchObject({ context: "." });
});
