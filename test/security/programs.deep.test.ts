// In make test: packages/escapes/escapes.test.ts
import { execFile } from "node:child_process";
import { hash } from "node:crypto";
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { installPackages } from "../../local/binaries/debian-packages.ts";
import { csvLine } from "../../packages/escapes/csv.ts";
import { brewFormula, krewManifest } from "../../tools/npm/manifests.ts";
import { goModule } from "../support/chart/go-module.ts";
import { hostileTexts } from "../support/strangers/hostile-texts.ts";

/*
 * Programs for which we write a text, and what they make of it: a spreadsheet (Debian's gnumeric), Ruby as Homebrew runs it (Debian's ruby), and
 * krew's own judge of manifests, which Go builds.
 */

const run = promisify(execFile);
let folder: string;

beforeAll(async () => {
	installPackages({ ssconvert: "gnumeric", ruby: "ruby" }, console.error);
	folder = await mkdtemp(join(tmpdir(), "tidemill-programs-"));
});

describe("a spreadsheet", () => {
	/** What each of the texts is in the spreadsheet that opens them as CSV, each as the second field of a line. */
	async function shown(lines: string[]): Promise<string[]> {
		const [csv, opened] = [join(folder, "in.csv"), join(folder, "out.csv")];
		await writeFile(csv, lines.join(""));
		await run("ssconvert", [
			"--import-type=Gnumeric_stf:stf_csvtab",
			"--import-encoding=UTF-8",
			"--export-type=Gnumeric_stf:stf_assistant",
			"--export-options=separator='\t' eol=unix quoting-mode=never",
			csv,
			opened,
		]);
		const text = await readFile(opened, "utf8");
		return text.split(/^line\t/m).slice(1);
	}

	/** But those of which it shows another form: of several lines or invisible characters, and times and dates. */
	const texts = hostileTexts.filter(
		(text) => /^\P{C}+$/u.test(text) && !/^\d+[:-]\d+/.test(text),
	);

	test("carries out what stands in a file unescaped", async () => {
		expect(await shown(["line,=1+1\r\n"])).toEqual(["2\n"]);
	});

	test("shows each text that somebody sent, and carries none out", async () => {
		const lines = texts.map((text) => csvLine(["line", text]));
		const cells = (await shown(lines)).map((cell) => cell.slice(0, -1));
		// An apostrophe at the beginning is a spreadsheet's own sign for a text.
		expect(cells).toEqual(
			texts.map((text) => fieldOf(csvLine([text])).replace(/^'/, "")),
		);
	});
});

/** The one field of a line, as RFC 4180 has it. */
function fieldOf(line: string): string {
	return line
		.replace(/\r\n$/, "")
		.replace(/^"(.*)"$/s, "$1")
		.replaceAll('""', '"');
}

const release = { version: "1.2.3-rc.1", tarball: Buffer.from("a package") };

test("Ruby reads Homebrew's formula, and its address and checksum are the release's", async () => {
	const formula = join(folder, "tidemill.rb");
	await writeFile(formula, brewFormula(release));
	// As Homebrew's class does, it takes each word of the formula as a call.
	const reader = `
		class Formula
			def self.method_missing(name, *words) = words.any? && puts("#{name} #{words.join}")
			def self.test = nil
		end
		load ARGV.first`;
	const { stdout } = await run("ruby", ["-w", "-e", reader, formula]);
	expect(stdout.trim().split("\n")).toEqual([
		"desc Webhooks into your data warehouse, minutes later",
		"homepage https://github.com/tidemill/tidemill",
		`url https://github.com/tidemill/tidemill/releases/download/v1.2.3-rc.1/tidemill-cli-1.2.3-rc.1.tgz`,
		`sha256 ${hash("sha256", release.tarball)}`,
		"license Apache-2.0",
		"depends_on node",
	]);
});

describe("krew's own judge", () => {
	let judge: string;

	beforeAll(async () => {
		judge = join(folder, "validate-krew-manifest");
		await run(
			"go",
			["build", "-mod=mod", "-o", judge, "./cmd/validate-krew-manifest"],
			{
				cwd: await goModule("sigs.k8s.io/krew@v0.4.3"),
				env: { ...process.env, GOWORK: "off" },
			},
		);
	});

	async function judged(manifest: string): Promise<string> {
		// krew compares the file's name with the plugin's.
		const file = join(folder, "tidemill.yaml");
		await writeFile(file, manifest);
		const { stderr } = await run(judge, ["-skip-install", "-manifest", file]);
		return stderr;
	}

	test("takes the manifest of a release", async () => {
		expect(await judged(krewManifest(release))).toContain(
			"no overlapping spec.platform[].selector",
		);
	});

	test("refuses one whose checksum is cut", async () => {
		const cut = krewManifest(release).replace(/(sha256: .{10}).*/, "$1");
		await expect(judged(cut)).rejects.toThrow("sha256");
	});
});
