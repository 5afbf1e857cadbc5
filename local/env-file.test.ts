import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { envFile } from "./env-file.ts";

const awkward = "a b'c\"$HOME`x`\\";

test("what a shell sources is what was meant, whatever is in it", () => {
	const script = `${envFile({ VALUE: awkward }, "/b")}printf %s "$VALUE"`;
	expect(execFileSync("sh", ["-c", script], { encoding: "utf8" })).toBe(
		awkward,
	);
});

test("bin stands in front of PATH, once", () => {
	const file = envFile({}, "/my bin");
	const script = `PATH=/usr/bin\n${file}${file}echo "$PATH"`;
	expect(execFileSync("sh", ["-c", script], { encoding: "utf8" }).trim()).toBe(
		"/my bin:/usr/bin",
	);
});
