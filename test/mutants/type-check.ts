import { execFile, execFileSync } from "node:child_process";
import { globSync } from "node:fs";
import { cp, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Survivor } from "./report.ts";

/**
 * The survivors that the type checker accepts too. Each round checks one mutant of every file, so an error belongs to
 * the mutant of its file.
 */
export async function wellTyped(
	root: string,
	survivors: Survivor[],
): Promise<Survivor[]> {
	const copy = await copyOf(root);
	try {
		const accepted: Survivor[] = [];
		const byFile = Object.groupBy(survivors, ({ file }) => file);
		const queues = Object.values(byFile).map((queue) => queue!);
		const rounds = Math.max(0, ...queues.map(({ length }) => length));
		for (let round = 0; round < rounds; round++) {
			const mutants = queues.flatMap((queue) => queue[round] ?? []);
			for (const mutant of mutants)
				await writeFile(join(copy, mutant.file), mutant.text);
			const faulty = await filesWithTypeErrors(copy);
			accepted.push(...mutants.filter(({ file }) => !faulty.has(file)));
			for (const { file } of mutants)
				await cp(join(root, file), join(copy, file));
		}
		return accepted;
	} finally {
		await rm(copy, { recursive: true, force: true });
	}
}

/** Code that Git ignores. */
const generated = "{crds,ingest,local,packages}/**/generated/*";

async function copyOf(root: string): Promise<string> {
	const copy = await mkdtemp(join(tmpdir(), "tidemill-mutants-"));
	const listed = ["ls-files", "--cached", "--others", "--exclude-standard"];
	const files = execFileSync("git", listed, { cwd: root, encoding: "utf8" });
	const needed = /\.ts$|\.json$/;
	for (const file of files.split("\n").filter((file) => needed.test(file)))
		await cp(join(root, file), join(copy, file));
	for (const file of globSync(generated, { cwd: root }))
		await cp(join(root, file), join(copy, file));
	const modules = "node_modules";
	await symlink(join(root, modules), join(copy, modules));
	return copy;
}

/** Exits with 1 or 2 when there are errors; they are on standard output, one a line, each with its file's path. */
function filesWithTypeErrors(folder: string): Promise<Set<string>> {
	const tsc = join(folder, "node_modules/typescript/bin/tsc");
	const incremental = ["--incremental", "--tsBuildInfoFile", ".tsbuildinfo"];
	const plain = ["--pretty", "false"];
	return new Promise((resolve, reject) => {
		execFile(
			process.execPath,
			[tsc, ...incremental, ...plain],
			{ cwd: folder, maxBuffer: 100_000_000 },
			(error, output) => {
				const found = output.matchAll(/^(\S+\.ts)\(\d+,\d+\): error/gm);
				const files = new Set([...found].map(([, file]) => file!));
				if (error && files.size === 0) reject(error);
				else resolve(files);
			},
		);
	});
}
