import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cacheDirectory } from "../../../packages/service/cache.ts";
import { withProgress } from "../../support/progress.ts";
import { outputOf } from "../program.ts";

/**
 * A `node_modules` with these packages (`name@version`). It stays in the cache under this name, so the name must change with the
 * versions. Throws what npm said.
 */
export async function npmPackages(
	name: string,
	packages: string[],
): Promise<string> {
	const directory = join(cacheDirectory(process.env), name);
	const complete = join(directory, "complete");
	if (!existsSync(complete)) {
		await mkdir(directory, { recursive: true });
		const install = outputOf("npm", [
			...["install", "--no-audit", "--no-fund", "--loglevel=error"],
			...["--prefix", directory, ...packages],
		]);
		await withProgress(`installing ${packages.join(", ")}`, install);
		await writeFile(complete, packages.join("\n"));
	}
	return join(directory, "node_modules");
}
