// On a laptop nothing proves this: it is about a clone in which nothing is installed.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
	cpSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { portableStart } from "./machine/identity.ts";

const root = join(import.meta.dirname, "..");

/** A clone without packages, whose `make down` finds this lock in a home with a space in its name. */
async function makeDown(lock?: object) {
	const clone = mkdtempSync(join(tmpdir(), "tidemill-clone-"));
	for (const file of ["Makefile", "local/down.sh"])
		cpSync(join(root, file), join(clone, file));
	const home = join(clone, "a home");
	mkdirSync(home);
	if (lock) writeFileSync(join(home, "lock"), JSON.stringify(lock));
	const answer = await promisify(execFile)("make", ["down"], {
		cwd: clone,
		// Whoever installed something would need npm or node.
		env: { PATH: "/usr/bin:/bin", TIDEMILL_HOME: home },
	}).catch((error) => error);
	expect(existsSync(join(clone, "node_modules"))).toBe(false);
	return answer.stdout as string;
}

function supervisor() {
	const child = spawn("sleep", ["300"]);
	onTestFinished(() => void child.kill("SIGKILL"));
	return child;
}

test("make down in a fresh clone ends the supervisor that the home names, and installs nothing", async () => {
	const child = supervisor();
	const ended = once(child, "exit");
	const said = await makeDown({
		pid: child.pid,
		startedAt: "x",
		psStart: portableStart(child.pid!),
	});
	expect(said).toContain("Stopped. The data stays in");
	expect(await ended).toEqual([null, "SIGTERM"]);
});

test("a process that has got the supervisor's id meanwhile is left alone", async () => {
	const child = supervisor();
	const said = await makeDown({
		pid: child.pid,
		startedAt: "x",
		psStart: "Mon Nov 30 05:00:00 2020",
	});
	expect(said).toContain("run `npm ci`, then `make down`");
	expect(child.exitCode ?? child.signalCode).toBeNull();
});

test("without a home make down says that nothing runs", async () => {
	expect(await makeDown()).toContain("No Tidemill is running in");
});
