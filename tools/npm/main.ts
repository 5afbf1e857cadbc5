/* `make cli-package`: dist/tidemill-cli-<version>.tgz for npm, and the manifests of krew and Homebrew that lead to it. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brewFormula, krewManifest } from "./manifests.ts";
import { writePackage } from "./package.ts";

const folder = join(import.meta.dirname, "../../dist");
const unpacked = join(folder, "cli");
mkdirSync(folder, { recursive: true });
await writePackage(unpacked);
const [packed] = JSON.parse(
	execFileSync("npm", ["pack", unpacked, "--json"], {
		cwd: folder,
		encoding: "utf8",
		// Windows has npm as a script.
		shell: process.platform === "win32",
	}),
) as { filename: string; version: string }[];
rmSync(unpacked, { recursive: true });
const file = join(folder, packed!.filename);
const release = { version: packed!.version, tarball: readFileSync(file) };
writeFileSync(join(folder, "tidemill.krew.yaml"), krewManifest(release));
writeFileSync(join(folder, "tidemill.rb"), brewFormula(release));
console.log(
	`${file} is written, and tidemill.krew.yaml and tidemill.rb beside it.`,
);
