import { chmod, cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
// Few files instead of thousands: a role starts in a third of the time, which each Run's Job pays.
import { rolldown } from "rolldown";

const root = join(import.meta.dirname, "../..");

/**
 * Writes the program as JavaScript into one folder: `tidemill.js`, the chunks that its commands import, the threads, and
 * the YAML that it reads. DuckDB stays outside, because its native library is loaded by path.
 */
export async function bundle(folder: string, node: string): Promise<void> {
	const build = await rolldown({
		cwd: root,
		platform: "node",
		input: {
			tidemill: "cli/bin/tidemill.ts",
			"schema-worker": "operator/tracking-plan/schema-worker.ts",
			"compile-worker": "ingest/receive/plan/compile-worker.ts",
			"validation-worker": "ingest/receive/plan/validation-worker.ts",
			"read-worker": "ingest/lake/events/read-worker.ts",
		},
		// Logs are pretty on a developer's terminal only.
		external: [/^@duckdb\//, "pino-pretty"],
		// Who reads a kubeconfig would load the classes of all of Kubernetes' kinds, a twelfth of what a command takes to start.
		treeshake: {
			moduleSideEffects: [
				{ test: /\/@kubernetes\/client-node\/dist\//, sideEffects: false },
			],
		},
	});
	await build.write({
		dir: folder,
		entryFileNames: "[name].js",
		chunkFileNames: "[name]-[hash].js",
		sourcemap: false,
	});
	await cp(join(root, "charts/tidemill/files/crds"), join(folder, "crds"), {
		recursive: true,
	});
	const { name, version, license } = JSON.parse(
		await readFile(join(root, "package.json"), "utf8"),
	);
	const description = { name, version, license, type: "module" };
	await writeFile(join(folder, "package.json"), JSON.stringify(description));
	await makeExecutable(join(folder, "tidemill.js"), node);
}

/** The image has no `env` to look Node up. */
async function makeExecutable(file: string, node: string): Promise<void> {
	const text = await readFile(file, "utf8");
	await writeFile(file, `#!${node}\n${text}`);
	await chmod(file, 0o755);
}
