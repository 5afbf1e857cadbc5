import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cacheDirectory } from "../../../packages/service/cache.ts";
import { withProgress } from "../progress.ts";

/**
 * Folder with the programs of a Python environment that has these packages (`name==version`). It stays in the cache under
 * this name; other packages under the same name are installed over it. Throws what pip said.
 */
export async function pythonEnvironment(
	name: string,
	packages: string[],
): Promise<string> {
	const directory = join(cacheDirectory(process.env), name);
	const bin = join(directory, "bin");
	const complete = join(directory, "complete");
	const wanted = packages.join("\n");
	if (!existsSync(complete) || readFileSync(complete, "utf8") !== wanted) {
		await done("python3", ["-m", "venv", directory]);
		await withProgress(
			`installing ${packages.join(", ")}`,
			done(join(bin, "pip"), ["install", "--quiet", ...packages]),
		);
		await writeFile(complete, wanted);
	}
	return bin;
}

/** False where there is no Python 3, or none that can make environments. */
export function hasPython(): Promise<boolean> {
	return done("python3", ["-c", "import venv, ensurepip"]).then(
		() => true,
		() => false,
	);
}

/** What a Python program prints. Throws what it says on standard error. */
export function done(command: string, args: string[]): Promise<string> {
	return new Promise((resolve, reject) => {
		const child = spawn(command, args);
		let [out, errors] = ["", ""];
		child.stdout.on("data", (text) => {
			out += text;
		});
		child.stderr.on("data", (text) => {
			errors += text;
		});
		child.once("error", reject);
		child.once("close", (code) => {
			if (code === 0) resolve(out);
			else reject(new Error(`${command} ended with status ${code}: ${errors}`));
		});
	});
}
