import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
	existsSync,
	globSync,
	readFileSync,
	renameSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { withLock } from "../../local/machine/lock.ts";
import { writeConsoleTypes } from "./types.ts";

const root = join(import.meta.dirname, "../..");
const dist = join(root, "console/dist");
const manifest = join(dist, "build.json");

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
	// Vite takes half a second to load.
	const { build } = await import("vite");
	// In a folder of its own first: an API serves the old one meanwhile.
	const made = `${dist}.${process.pid}`;
	try {
		await build({
			configFile: join(root, "console/vite.config.ts"),
			logLevel: "warn",
			build: { outDir: made },
		});
		compress(join(made, "assets"));
		writeFileSync(
			join(made, "build.json"),
			`${JSON.stringify({ build: name })}\n`,
		);
		rmSync(dist, { recursive: true, force: true });
		renameSync(made, dist);
	} finally {
		rmSync(made, { recursive: true, force: true });
	}
}

/** Writes each file's gzip beside it, which the API sends to whoever takes it: a third of the bytes. */
function compress(folder: string): void {
	for (const file of globSync("**/*", { cwd: folder })) {
		const path = join(folder, file);
		writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }));
	}
}

/** What the build reads, and this file. */
const read = [
	"console/**/*.{js,ts,tsx,css,html,svg,json}",
	"charts/tidemill/files/crds/*.yaml",
	"crds/*.ts",
	"packages/{contracts,service,warehouses}/**/*.{ts,yaml}",
	"tools/console/build.ts",
];

/** Of all that the build reads. */
function nameOf(types: string): string {
	const hash = createHash("sha256").update(types);
	const files = globSync(read, {
		cwd: root,
		exclude: ["console/dist*/**", "console/generated/**", "**/*.test.ts"],
	});
	for (const file of [...files.sort(), "package-lock.json"])
		hash.update(`\0${file}\0`).update(readFileSync(join(root, file)));
	return hash.digest("hex").slice(0, 16);
}

// Two `make up` in one clone may want it at once.
await withLock(
	join(root, "node_modules/.cache/console-build"),
	() => {},
	buildConsole,
);
