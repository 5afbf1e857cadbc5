// On a laptop nothing proves this: shells differ from machine to machine.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { apiserver } from "../test/support/cli/apiserver.ts";
import { inProcess } from "../test/support/cli/in-process.ts";

const bin = join(import.meta.dirname, "bin");

async function candidates(...words: string[]): Promise<string[]> {
	const { stdout } = await inProcess("__complete", ...words);
	return stdout
		.split("\n")
		.filter(Boolean)
		.map((line) => line.split("\t")[0]!);
}

test.each([
	[["sou"], ["sources"]],
	[["sources", "l"], ["list"]],
	[["-n", "shop", "wsrc", "rot"], ["rotate-url"]],
	[["sources", "list", "--sel"], ["--selector"]],
	[["sources", "list", "--name"], ["--namespace"]],
	[["sources", "list", "-o", "j"], ["json"]],
	[["sources", "list", "--output", "=", "y"], ["yaml"]],
	[
		["tokens", "create", "x", "--scope", ""],
		["read", "run", "edit"],
	],
	[["completion", "f"], ["fish"]],
	[["sources", "create", "x", "--provider", "shop"], ["shopify"]],
	[["wpl", "create", "x", "--set", "table.na"], ["table.name="]],
	[["wpl", "edit", "x", "--set", "suspend=t"], ["suspend=true"]],
	[["wpl", "edit", "x", "--set", "suspend", "=", "t"], ["true"]],
	[
		["wpl", "edit", "x", "--set", "suspend", "="],
		["true", "false"],
	],
	[["wpl", "edit", "x", "--set", "suspend=true", "--se"], ["--set"]],
	[["nothing", "x"], []],
])("%j is completed to %j", async (words, expected) => {
	expect(await candidates(...words)).toEqual(expected);
});

test("names of a cluster that doesn't answer are none, and no error", async () => {
	const words = ["sources", "edit", "--kubeconfig", "/none", ""];
	expect(await inProcess("__complete", ...words)).toEqual({
		exitCode: 0,
		stdout: "",
		stderr: "",
	});
});

test("names of namespaces complete -n, and logs takes what has one", async () => {
	const { args } = await apiserver((line) => {
		const [, plural = ""] = /\/(\w+)\?/.exec(line) ?? [];
		return [200, { items: [{ metadata: { name: `my-${plural}` } }] }];
	});
	expect(await candidates("sources", "list", ...args, "-n", "")).toEqual([
		"my-namespaces",
	]);
	expect(await candidates("logs", ...args, "my-")).toEqual([
		"my-pipelines",
		"my-runs",
		"my-operations",
	]);
});

test("nothing is completed, nor asked, while no certificate would be verified", async () => {
	const { asked, args } = await apiserver(() => [200, { items: [] }]);
	vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
	try {
		expect(await candidates("sources", "edit", ...args, "")).toEqual([]);
		expect(await candidates("sou")).toEqual([]);
	} finally {
		vi.unstubAllEnvs();
	}
	expect(asked).toEqual([]);
});

test("bash completes commands by the script that it is given", async () => {
	const { stdout: script } = await inProcess("completion", "bash");
	const { stdout, stderr } = spawnSync(
		"bash",
		[
			"--norc",
			"-c",
			`${script}
COMP_WORDS=(tidemill pipelines su); COMP_CWORD=2; _tidemill; echo "\${COMPREPLY[*]}"
complete -p tidemill`,
		],
		{
			encoding: "utf8",
			env: { ...process.env, PATH: `${bin}:${process.env.PATH}` },
		},
	);
	expect(stderr).toBe("");
	expect(stdout).toMatch(/^suspend\ncomplete .*-F _tidemill tidemill\n$/);
});

test("kubectl completes the plugin as cobra does", () => {
	const { stdout } = spawnSync(
		join(bin, "kubectl_complete-tidemill"),
		["sources", "li"],
		{ encoding: "utf8" },
	);
	expect(stdout).toMatch(/^list\t.+\n:4\n$/);
});
