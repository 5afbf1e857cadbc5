import { execFile } from "node:child_process";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../../test/support/servers/test-server.ts";

/* A release's builder, with a stand-in for the registry: what `docker buildx imagetools inspect` says of the tag. */

const digest = `sha256:${"0a".repeat(32)}`;
const tagged = "docker.io/library/node:26-bookworm";

/** What the script prints, and what the stand-in was asked. */
async function builderBy(answer: string, ...args: string[]) {
	const folder = await temporaryDirectory("builder");
	const docker = join(folder, "docker");
	const asked = join(folder, "asked");
	await writeFile(asked, "");
	await writeFile(docker, `#!/bin/sh\necho "$@" >> ${asked}\n${answer}\n`);
	await chmod(docker, 0o755);
	const script = join(import.meta.dirname, "builder-digest.sh");
	const env = { PATH: `${folder}:${process.env.PATH}` };
	const run = promisify(execFile)(script, args, { env });
	const { stdout, stderr } = await run.catch((error) => error);
	return { stdout, stderr, asked };
}

test("a release is built by what the Dockerfile's tag leads to, named by its digest", async () => {
	const { stdout } = await builderBy(`echo ${digest}`);
	expect(stdout).toBe(`${tagged}@${digest}\n`);
});

test("a builder with a digest is taken as it is, and no registry is asked", async () => {
	const { stdout } = await builderBy("exit 1", `${tagged}@${digest}`);
	expect(stdout).toBe(`${tagged}@${digest}\n`);
});

test.each([
	["a registry that says nothing", "true", []],
	["a registry that is away", "echo away >&2; exit 1", []],
	["a registry's words in place of a digest", "echo not found", []],
	["a short digest", "echo sha256:0a", []],
	["another algorithm", `echo md5:${"0a".repeat(32)}`, []],
	["two lines", `echo ${digest}; echo ${digest}`, []],
	["a tag behind the digest", "true", [`${tagged}@${digest}:latest`]],
	["an option", "true", [`--file=/etc/passwd@${digest}`]],
])("%s is no builder of a release", async (_, answer, args) => {
	const { stdout } = await builderBy(answer, ...args);
	expect(stdout).toBe("");
});
