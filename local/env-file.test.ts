import { execFileSync, spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { envFile } from "./env-file.ts";

const awkward = "a b'c\"$HOME`x`\\";

test("any value survives the shell that sources the file", () => {
	const script = `${envFile({ VALUE: awkward }, "/b")}printf %s "$VALUE"`;
	expect(execFileSync("sh", ["-c", script], { encoding: "utf8" })).toBe(
		awkward,
	);
});

const shells = ["sh", "bash", "zsh"].filter(
	(shell) => spawnSync(shell, ["-c", ":"]).status === 0,
);

test.each(shells)("in %s bin comes first on PATH, once", (shell) => {
	const file = envFile({}, "/my bin");
	const script = `PATH=/usr/bin:/bin\n${file}${file}echo "$PATH"`;
	expect(execFileSync(shell, ["-c", script], { encoding: "utf8" }).trim()).toBe(
		"/my bin:/usr/bin:/bin",
	);
});

test.each(shells)(
	"in %s the last home's values count, and nothing stays of another home",
	(shell) => {
		const first = envFile({ ONE: "a", TWO: "a" }, "/first/b*n");
		const second = envFile({ ONE: "b" }, "/second/bin");
		const script = `PATH=/usr/bin:/bin\n${first}PATH=/mine:$PATH\n${second}${second}echo "$ONE \${TWO-unset} $PATH"`;
		expect(
			execFileSync(shell, ["-c", script], { encoding: "utf8" }).trim(),
		).toBe("b unset /second/bin:/mine:/usr/bin:/bin");
	},
);
