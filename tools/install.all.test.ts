// On a laptop nothing proves this: it is about a clone in which nothing is installed.
import { execFile } from "node:child_process";
import {
	chmodSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

/** A clone with an npm that takes a while, and notes each time that it runs. */
function clone() {
	const directory = mkdtempSync(join(tmpdir(), "tidemill-install-"));
	mkdirSync(join(directory, "bin"));
	writeFileSync(join(directory, "package-lock.json"), "{}");
	const npm = join(directory, "bin/npm");
	writeFileSync(
		npm,
		`#!/bin/sh
echo ran >> runs
sleep 1
mkdir -p node_modules
echo > node_modules/.package-lock.json
`,
	);
	chmodSync(npm, 0o755);
	const install = () =>
		promisify(execFile)("sh", [join(import.meta.dirname, "install.sh")], {
			cwd: directory,
			env: { PATH: `${directory}/bin:/usr/bin:/bin` },
		});
	return { directory, install };
}

test("of several make in one clone one installs the packages, and the others wait", async () => {
	const { directory, install } = clone();
	await Promise.all([install(), install(), install()]);
	expect(readFileSync(join(directory, "runs"), "utf8")).toBe("ran\n");
	expect(existsSync(join(directory, ".installing"))).toBe(false);
});

test("who was killed while it installed holds nobody up", async () => {
	const { directory, install } = clone();
	symlinkSync("4194304", join(directory, ".installing"));
	await install();
	expect(readFileSync(join(directory, "runs"), "utf8")).toBe("ran\n");
});
