// On a laptop nothing proves this: an image needs root or a container engine.
import { execFileSync } from "node:child_process";
import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { resolveBinaries } from "../../local/binaries/resolve.ts";
import {
	reasonWithoutBuildah,
	withBuildah,
} from "../../tools/image/buildah.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";

/* Which files a build gets: by BuildKit's own code, and by Buildah, with which the other tests build. */

const project = join(import.meta.dirname, "../..");
let program: string;
beforeAll(async () => {
	program = (await resolveBinaries(["docker-context"]))["docker-context"];
});

/** What Docker sends. */
function context(folder: string): string[] {
	const text = execFileSync(program, [folder], { encoding: "utf8" });
	return text.trim().split("\n").sort();
}

/** What `COPY . .` finds in Buildah. */
function contextOfBuildah(folder: string): Promise<string[]> {
	return withBuildah(console.log, async (buildah, directory) => {
		const dockerfile = join(directory, "Dockerfile");
		await writeFile(dockerfile, "FROM scratch\nCOPY . /\n");
		await buildah(
			...["build", "--isolation", "chroot", "--file", dockerfile],
			...["--ignorefile", join(folder, ".dockerignore")],
			...["--tag", "context", folder],
		);
		const container = (await buildah("from", "context")).trim();
		const root = (await buildah("mount", container)).trim();
		const find = [".", "!", "-type", "d", "-printf", "%P\n"];
		const text = execFileSync("find", find, { cwd: root, encoding: "utf8" });
		await buildah("rm", container);
		return text.trim().split("\n").sort();
	});
}

const kept = [
	".npmrc",
	"Dockerfile",
	"a-new-folder/with/a-file.ts",
	"api/main.ts",
	"charts/tidemill/files/crds/sources.yaml",
	"package-lock.json",
];
const left = [
	".env",
	".git/config",
	".tidemill/kube/admin.yaml",
	"api/.env",
	"api/main.laptop.test.ts",
	"api/node_modules/x/index.js",
	"charts/tidemill/values.yaml",
	"docs/.npmrc",
	"docs/install.md",
	"node_modules/x/index.js",
	"README.md",
	"test/run.ts",
];

async function folderWith(files: string[]): Promise<string> {
	const folder = await temporaryDirectory("build-context");
	onTestFinished(() => rm(folder, { recursive: true, force: true }));
	await cp(join(project, ".dockerignore"), join(folder, ".dockerignore"));
	for (const file of files) {
		await mkdir(dirname(join(folder, file)), { recursive: true });
		await writeFile(join(folder, file), "");
	}
	return folder;
}

test("Docker's build gets a new folder by itself, and no secrets, history, packages, tests or pages", async () => {
	expect(context(await folderWith([...kept, ...left]))).toEqual(kept);
});

const reason = reasonWithoutBuildah();
test.skipIf(reason && !process.env.CI)(
	"Buildah reads .dockerignore as Docker does",
	async () => {
		const folder = await folderWith([...kept, ...left]);
		expect(await contextOfBuildah(folder)).toEqual(kept);
		const sent = context(project);
		expect(sent).toContain("cli/bin/tidemill.ts");
		expect(await contextOfBuildah(project)).toEqual(sent);
	},
);
