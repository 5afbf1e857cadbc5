// On a laptop nothing proves this: it pretends another system.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
	chmodSync,
	mkdirSync,
	mkdtempSync,
	openSync,
	readFileSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import { localServers } from "./binaries/pinned.ts";
import { resolveBinaries } from "./binaries/resolve.ts";

const root = join(import.meta.dirname, "..");
const pretend = join(root, "test/support/macos/pretend.mjs");
/** What macOS has, too, and `make up` may use. */
const systemPrograms = ["sh", "ps", "dirname", "readlink"];

test("make up starts where Node says macOS, without /proc and with no program that macOS lacks", async () => {
	const directory = mkdtempSync(join(tmpdir(), "tidemill macos-"));
	const place = (name: string) => {
		mkdirSync(join(directory, name));
		return join(directory, name);
	};
	const servers = place("servers");
	const built = await resolveBinaries([...localServers]);
	for (const name of localServers)
		symlinkSync(built[name], join(servers, name));
	const tools = place("tools");
	for (const name of systemPrograms) {
		const { stdout } = await promisify(execFile)("which", [name]);
		symlinkSync(stdout.trim(), join(tools, name));
	}
	// The roles, too.
	const command = join(directory, "tidemill");
	writeFileSync(
		command,
		`#!/bin/sh\nNODE_OPTIONS='--import=${pretend}' exec ${root}/cli/bin/tidemill "$@"\n`,
	);
	chmodSync(command, 0o755);
	const home = join(directory, "home");
	const log = join(directory, "log");
	const output = openSync(log, "a");
	const up = spawn(process.execPath, ["--import", pretend, "local/up.ts"], {
		cwd: root,
		env: {
			PATH: tools,
			HOME: directory,
			TIDEMILL_BIN: servers,
			TIDEMILL_CACHE: place("cache"),
			TIDEMILL_COMMAND: command,
			TIDEMILL_HOME: home,
		},
		stdio: ["ignore", output, output],
	});
	onTestFinished(() => void up.kill("SIGKILL"));
	const ended = once(up, "exit");
	const isReady = vi.waitFor(
		() => expect(readFileSync(log, "utf8")).toContain("Tidemill is ready"),
		{ timeout: 240_000 },
	);
	await Promise.race([isReady, ended]);
	expect(up.exitCode, readFileSync(log, "utf8")).toBeNull();
	const said = readFileSync(log, "utf8");
	// A space in the path is quoted wherever somebody pastes it.
	expect(said).toContain(`KUBECONFIG='${home}/kube/admin.yaml'`);
	expect(said.split("Tidemill is ready")[0]!.split("\n").length).toBeLessThan(
		15,
	);
	await promisify(execFile)(
		"sh",
		["-ec", '. "$0/env"; kubectl apply -f examples/quickstart/', home],
		{ cwd: root },
	);
	up.kill("SIGTERM");
	expect(await ended).toEqual([0, null]);
	expect(readFileSync(log, "utf8")).toContain("Tidemill has stopped.");
});
