import { existsSync, globSync } from "node:fs";
import { join } from "node:path";

/**
 * Whose test it is: `check` everybody's, at each change; `laptop` a contributor's (`make test`); `all` CI's (`make test-all`);
 * `deep` the night's (`make test-deep`).
 */
export type Tier = "check" | ServersTier;
/** What runs on servers. */
export type ServersTier = "laptop" | "all" | "deep";

/** The one rule: the word before the ending says a file's tier. No word is `check`. */
export function tierOf(file: string): Tier {
	const [, tier] = /\.(laptop|all|deep)\.test\.ts$/.exec(file) ?? [];
	return (tier as Tier | undefined) ?? "check";
}

/** What only the files of a tier have in their names. */
export function endingOf(tier: ServersTier): string {
	return `.${tier}.test.ts`;
}

const root = join(import.meta.dirname, "../..");
export const notOurs = ["**/node_modules/**", "**/.tidemill/**"];

/** All files of tests, by their path from the root. */
export function testFiles(): string[] {
	return globSync("**/*.test.ts", { cwd: root, exclude: notOurs }).sort();
}

/** A folder of `test/` whose files share servers, and so a vitest project and a lane. */
export interface Room {
	/** Its project's name. */
	name: string;
	/** From the root. */
	folder: string;
	/** What starts what its files share. */
	setup?: string;
}

/** Each folder directly in `test/` or `test/faults/` that has tests on servers. */
export function rooms(files = testFiles()): Room[] {
	const folders = files
		.filter((file) => tierOf(file) !== "check")
		.map((file) => /^test\/(?:faults\/)?[^/]+(?=\/)/.exec(file)?.[0])
		.filter((folder) => folder !== undefined);
	return [...new Set(folders)].map((folder) => {
		const setup = `${folder}/setup.ts`;
		return {
			name: folder.slice("test/".length).replace("/", "-"),
			folder,
			...(existsSync(join(root, setup)) && { setup }),
		};
	});
}
