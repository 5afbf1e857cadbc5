import { cpSync, globSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { copyFile, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { type Plugin, rolldown } from "rolldown";

const root = join(import.meta.dirname, "../..");

/**
 * Writes the folder that `npm pack` makes @tidemill/cli of: the command line as JavaScript that depends on no package. It
 * lacks the processes of an installation, and DuckDB, whose library is larger than all else: `tidemill sql` uses the one that
 * stands beside it.
 */
export async function writePackage(folder: string): Promise<void> {
	rmSync(folder, { recursive: true, force: true });
	const build = await rolldown({
		cwd: root,
		platform: "node",
		input: { tidemill: "cli/bin/tidemill.ts" },
		external: [/^@duckdb\//],
		transform: { target: "node22.12" },
		plugins: [withoutProcesses],
	});
	const { output } = await build.write({
		dir: join(folder, "dist"),
		entryFileNames: "[name].js",
		chunkFileNames: "[name]-[hash].js",
		sourcemap: false,
		minify: true,
	});
	const modules = output.flatMap((chunk) =>
		chunk.type === "chunk" ? chunk.moduleIds : [],
	);
	writeFileSync(join(folder, "NOTICES.txt"), await noticesOf(modules));
	mkdirSync(join(folder, "bin"));
	for (const name of Object.keys(commands))
		await copyFile(
			join(import.meta.dirname, "start.js"),
			join(folder, commands[name]!),
		);
	await copyFile(
		join(import.meta.dirname, "README.md"),
		join(folder, "README.md"),
	);
	await copyFile(join(root, "LICENSE"), join(folder, "LICENSE"));
	// `--provider paddle` reads them.
	for (const file of globSync(join(root, "examples/senders/*.yaml")))
		cpSync(file, join(folder, "examples/senders", basename(file)));
	// `--set` knows the fields by them.
	for (const file of globSync(join(root, "charts/tidemill/files/crds/*.yaml")))
		cpSync(file, join(folder, "dist/crds", basename(file)));
	writeFileSync(
		join(folder, "package.json"),
		`${JSON.stringify(await descriptionOf(), null, "\t")}\n`,
	);
}

/** A file for each name, because npm's start scripts on Windows don't say by which name they were called. */
const commands: Record<string, string> = {
	tidemill: "bin/tidemill.js",
	"kubectl-tidemill": "bin/kubectl-tidemill.js",
	"kubectl_complete-tidemill": "bin/kubectl_complete-tidemill.js",
};

async function descriptionOf(): Promise<object> {
	const { version, description, license, dependencies } = JSON.parse(
		await readFile(join(root, "package.json"), "utf8"),
	);
	return {
		name: "@tidemill/cli",
		...{ version, description, license },
		repository: {
			type: "git",
			url: "git+https://github.com/tidemill/tidemill.git",
		},
		type: "module",
		bin: commands,
		files: ["bin", "dist", "examples", "NOTICES.txt"],
		engines: { node: ">=22.12" },
		peerDependencies: {
			"@duckdb/node-api": dependencies["@duckdb/node-api"],
		},
		peerDependenciesMeta: { "@duckdb/node-api": { optional: true } },
	};
}

/** The licenses of the packages whose code is in the bundle: most ask to go wherever the code does. */
async function noticesOf(modules: string[]): Promise<string> {
	const folders = modules.flatMap(
		(id) =>
			/^.*\/node_modules\/(@[^/]+\/)?[^/]+/.exec(
				id.replaceAll("\\", "/"),
			)?.[0] ?? [],
	);
	const notices = [...new Set(folders)].sort().map(async (folder) => {
		const { name, version, license } = JSON.parse(
			await readFile(join(folder, "package.json"), "utf8"),
		);
		const texts = globSync(join(folder, "{LICEN[CS]E,NOTICE}*")).map((file) =>
			readFile(file, "utf8"),
		);
		return [`${name} ${version} (${license})`, ...(await Promise.all(texts))];
	});
	return (await Promise.all(notices)).flat().join("\n\n");
}

const withoutProcesses: Plugin = {
	name: "without-processes",
	resolveId(source, importer) {
		const isOfRoles = importer === join(root, "cli/bin/roles.ts");
		return isOfRoles && source.startsWith("../../")
			? join(import.meta.dirname, "not-in-package.ts")
			: null;
	},
};
