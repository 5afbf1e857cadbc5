import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { buildConsole } from "./console-build.ts";

const soon = { timeout: 120_000 };

test("a build that fails is said, with the log that has what it said", async () => {
	const { said, log } = await build(
		"console.error('no disk'); process.exit(1)",
	);
	await vi.waitFor(() => expect(said).toHaveLength(1), soon);
	expect(said[0]).toContain("console-build.log");
	expect(await log()).toContain("no disk");
});

test("a build that succeeds says nothing on the terminal", async () => {
	const { said, log } = await build("console.log('built')");
	await vi.waitFor(async () => expect(await log()).toContain("built"), soon);
	expect(said).toEqual([]);
});

test("whoever brings the program brings the console", async () => {
	const { log } = await build("", { TIDEMILL_COMMAND: "/app/tidemill" });
	await expect(log()).rejects.toThrow("ENOENT");
});

async function build(code: string, env: Record<string, string> = {}) {
	const logs = await mkdtemp(join(tmpdir(), "console-build-"));
	const script = join(logs, "script.mjs");
	await writeFile(script, code);
	const said: string[] = [];
	const say = (text: string) => void said.push(text);
	const stopping = new AbortController();
	buildConsole({ logs }, { say }, stopping.signal, { env, script });
	const log = () => readFile(join(logs, "console-build.log"), "utf8");
	return { said, log };
}
