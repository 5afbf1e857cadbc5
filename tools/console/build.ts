import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "vite";
import { writeConsoleTypes } from "./types.ts";

const root = join(import.meta.dirname, "../..");
const manifest = join(root, "console/dist/build.json");

/**
 * `npm run console:build`: builds console/dist, unless the last build was of the same files. `make up` runs it in the background,
 * and the image has what it made.
 */
async function buildConsole(): Promise<void> {
	const types = writeConsoleTypes();
	const name = nameOf(types);
	if (existsSync(manifest)) {
		const { build: last } = JSON.parse(readFileSync(manifest, "utf8"));
		if (last === name) return;
	}
	execFileSync(
		process.execPath,
		[join(root, "node_modules/typescript/bin/tsc"), "--project", "console"],
		{ cwd: root, stdio: ["ignore", "inherit", "inherit"] },
	);
	process.env.CONSOLE_BUILD = name;
	await build({
		configFile: join(root, "console/vite.config.ts"),
		logLevel: "warn",
	});
	writeFileSync(manifest, `${JSON.stringify({ build: name })}\n`);
}

/** Of all that the build reads. */
function nameOf(types: string): string {
	const hash = createHash("sha256").update(types);
	const files = globSync("console/**/*.{ts,tsx,css,html,svg,json}", {
		cwd: root,
		exclude: ["console/dist/**", "console/generated/**", "**/*.test.ts"],
	});
	for (const file of [...files.sort(), "package-lock.json"])
		hash.update(`\0${file}\0`).update(readFileSync(join(root, file)));
	return hash.digest("hex").slice(0, 16);
}

await buildConsole();
