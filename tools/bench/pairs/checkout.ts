import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, utimesSync } from "node:fs";
import { join } from "node:path";
import type { Say } from "../measure/measurement.ts";

/**
 * The commit before the change: `BASE`, or where this branch left main; on main itself the last commit, and if nothing has changed
 * since, the one before it.
 */
export function baseOf(project: string): string {
	const { BASE } = process.env;
	if (BASE) return git(project, "rev-parse", "--verify", `${BASE}^{commit}`);
	const head = git(project, "rev-parse", "HEAD");
	const left = forkOf(project);
	if (left && left !== head) return left;
	const isChanged = git(project, "status", "--porcelain") !== "";
	return isChanged ? head : git(project, "rev-parse", "HEAD~1");
}

function forkOf(project: string): string | undefined {
	try {
		return git(project, "merge-base", "HEAD", "origin/main");
	} catch {
		// There is no such branch.
		return undefined;
	}
}

/** Puts a commit into the folder, ready for its benches. With the same lock file it gets the work tree's packages. */
export function checkOut(
	project: string,
	commit: string,
	folder: string,
	say: Say,
): void {
	rmSync(folder, { recursive: true, force: true });
	git(project, "clone", "--quiet", "--shared", "--no-checkout", ".", folder);
	git(folder, "checkout", "--quiet", "--detach", commit);
	const lock = (of: string) => join(of, "package-lock.json");
	if (readFileSync(lock(project)).equals(readFileSync(lock(folder)))) {
		say("copies the packages");
		linkTree(join(project, "node_modules"), join(folder, "node_modules"));
		// Older than the packages, so make doesn't install them again.
		utimesSync(lock(folder), 0, 0);
	}
	say("gets what the base commit needs: make servers");
	execFileSync("make", ["servers"], { cwd: folder, stdio: "inherit" });
}

/** Hard links, since the base writes caches of its own beside the packages. */
function linkTree(from: string, to: string): void {
	execFileSync("cp", ["-al", from, to]);
}

function git(cwd: string, ...args: string[]): string {
	return execFileSync("git", args, {
		cwd,
		encoding: "utf8",
		stdio: ["ignore", "pipe", "pipe"],
	}).trim();
}
