import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cacheDirectory } from "../../../service/cache.ts";

/**
 * Folder with the programs of a Python environment that has these packages (`name==version`). It stays in the cache under
 * this name, so the name must change with the versions. Throws what pip said.
 */
export async function pythonEnvironment(
	name: string,
	packages: string[],
): Promise<string> {
	const directory = join(cacheDirectory(process.env), name);
	const bin = join(directory, "bin");
	const complete = join(directory, "complete");
	if (!existsSync(complete)) {
		await done("python3", ["-m", "venv", directory]);
		await done(join(bin, "pip"), ["install", "--quiet", ...packages]);
		await writeFile(complete, packages.join("\n"));
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
