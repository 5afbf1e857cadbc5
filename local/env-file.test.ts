import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { envFile } from "./env-file.ts";

const awkward = "a b'c\"$HOME`x`\\";

test("any value survives the shell that sources the file", () => {
	const script = `${envFile({ VALUE: awkward }, "/b")}printf %s "$VALUE"`;
	expect(execFileSync("sh", ["-c", script], { encoding: "utf8" })).toBe(
		awkward,
	);
});

test("bin comes first on PATH, once", () => {
	const file = envFile({}, "/my bin");
	const script = `PATH=/usr/bin\n${file}${file}echo "$PATH"`;
	expect(execFileSync("sh", ["-c", script], { encoding: "utf8" }).trim()).toBe(
		"/my bin:/usr/bin",
	);
});
