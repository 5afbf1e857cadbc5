import { execFileSync } from "node:child_process";
import { globSync } from "node:fs";
import {
	chmod,
	cp,
	mkdir,
	realpath,
	symlink,
	writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { bundle } from "./bundle.ts";

const node = "/usr/local/bin/node";
const project = join(import.meta.dirname, "../..");

/**
 * Writes all files of the image below `root`: Node, the shared libraries it needs, the program, DuckDB and the built console. There is no
 * shell and no package manager. Node brings its own certificates and time zones.
 */
export async function writeRootDirectory(root: string): Promise<void> {
	await mkdir(join(root, dirname(node)), { recursive: true });
	await cp(process.execPath, join(root, node));
	await bundle(join(root, "app"), node);
	await symlink("/app/tidemill.js", join(root, "usr/local/bin/tidemill"));
	for (const name of globSync("node_modules/@duckdb/*", { cwd: project }))
		await cp(join(project, name), join(root, "app", name), { recursive: true });
	// `npm run console:build` has made it.
	await cp(join(project, "console/dist"), join(root, "app/console"), {
		recursive: true,
	});
	await copyLibraries(root);
	await writeSystemFiles(root);
}

/** The libraries that ldd(1) names, under the names by which programs look for them. */
async function copyLibraries(root: string): Promise<void> {
	const native = globSync("app/node_modules/@duckdb/*/*.{node,so}", {
		cwd: root,
	});
	const binaries = [node, ...native].map((file) => join(root, file));
	const listing = execFileSync("ldd", binaries, { encoding: "utf8" });
	const libraries = listing.matchAll(/^\s+(?:\S+ => )?(\/\S+) \(0x/gm);
	for (const library of new Set([...libraries].map(([, path]) => path!))) {
		if (library.startsWith(root)) continue;
		await mkdir(join(root, dirname(library)), { recursive: true });
		await cp(await realpath(library), join(root, library));
	}
}

async function writeSystemFiles(root: string): Promise<void> {
	await mkdir(join(root, "etc"));
	await mkdir(join(root, "tmp"));
	await chmod(join(root, "tmp"), 0o1777);
	const files = {
		passwd: "tidemill:x:1000:1000::/tmp:/sbin/nologin\n",
		group: "tidemill:x:1000:\n",
		"nsswitch.conf": "hosts: files dns\n",
	};
	for (const [name, text] of Object.entries(files))
		await writeFile(join(root, "etc", name), text);
}

/* `node tools/image/root-directory.ts <folder>`: for the Dockerfile. */
if (import.meta.main) {
	const [folder] = process.argv.slice(2);
	if (!folder)
		throw new Error(
			"Say where to: node tools/image/root-directory.ts <folder>",
		);
	await writeRootDirectory(folder);
}
