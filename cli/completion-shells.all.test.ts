// On a laptop nothing proves this: shells differ from machine to machine.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { documentedText } from "../test/support/examples/documented.ts";
import { scripts } from "./completion.ts";

/* The scripts in the shells that they are for. A shell that the machine lacks is skipped: apt-get install zsh fish. */

const bin = join(import.meta.dirname, "bin");

test.skipIf(lacks("fish"))(
	"fish completes commands, their options and values, each with what it does",
	() => {
		const complete = (line: string) =>
			inShell(
				"fish",
				"--no-config",
				"-c",
				`${scripts.fish}\ncomplete -C '${line}'`,
			);
		expect(complete("tidemill pipelines su")).toMatch(/^suspend\t\S.*\n$/);
		expect(complete("tidemill sources list --out")).toMatch(
			/^--output\t\S.*\n$/,
		);
		expect(complete("tidemill sources list --output j")).toBe("json\n");
	},
);

test.skipIf(lacks("zsh"))(
	"zsh completes what is typed, as a person sees it",
	() => {
		// zshmodules(1), "The zsh/zpty module": an interactive shell of its own. A read waits until its output matches the pattern.
		const typed = `
zmodload zsh/zpty
zpty shell zsh -f -i
type() { zpty -w -n shell "$1"; zpty -r -m shell seen "*$2*"; print -r -- "$seen" }
type $'PS1=; autoload -Uz compinit; compinit -u -D; source =(print -r -- "$SCRIPT"); print re""ady\\n' ready
type $'tidemill pipelines sus\\t' 'pipelines suspend'
type $'\\C-utidemill sources list --output j\\t' '--output json'
zpty -d shell`;
		const seen = inShell("zsh", "-f", "-c", typed);
		expect(seen).toContain("pipelines suspend");
		expect(seen).toContain("--output json");
	},
);

const [ofBash, ofZsh, ofFish] = documentedText("docs/cli.md#completion sh")
	.trim()
	.split("\n");

test("the page's lines set it up", () => {
	const inBash = `${ofBash}\ncomplete -p tidemill`;
	expect(inShell("bash", "--norc", "-ec", inBash)).toContain("tidemill");
	const inFish = `HOME=$(mktemp -d); mkdir -p ~/.config/fish/completions\n${ofFish}\ncat ~/.config/fish/completions/*`;
	expect(inShell("sh", "-ec", inFish)).toContain(scripts.fish);
});

test.skipIf(lacks("zsh"))("the page's line sets it up in zsh", () => {
	const script = `autoload -Uz compinit; compinit -u -D\n${ofZsh}\nprint $_comps[tidemill]`;
	expect(inShell("zsh", "-f", "-c", script)).toContain("tidemill");
});

function inShell(shell: string, ...args: string[]): string {
	const env = {
		...process.env,
		PATH: `${bin}:${process.env.PATH}`,
		SCRIPT: scripts.zsh,
		TERM: "dumb",
	};
	const options = { encoding: "utf8", env, timeout: 60_000 } as const;
	const { stdout, stderr } = spawnSync(shell, args, options);
	expect(stderr).toBe("");
	return stdout;
}

function lacks(shell: string): boolean {
	return spawnSync(shell, ["--version"]).status !== 0;
}
