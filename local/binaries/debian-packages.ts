import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { LocalError } from "../machine/errors.ts";

/** In Debian, root's programs aren't in everybody's PATH. */
export const pathOfRoot = `${process.env.PATH}:/usr/sbin:/sbin`;

/**
 * Installs Debian's packages that are missing, and says so. Throws a LocalError where that fails.
 *
 * @param packages the package of each program, by the program's name or its absolute path.
 */
export function installPackages(
	packages: Record<string, string>,
	say: (text: string) => void,
): void {
	const missing = Object.entries(packages)
		.filter(([program]) => !isInstalled(program))
		.map(([, name]) => name);
	if (missing.length === 0) return;
	say(`Installing Debian's packages ${missing.join(", ")}.`);
	// Others may install at the same time: apt itself doesn't wait.
	const apt = (...args: string[]) =>
		execFileSync("flock", [aptLock, "apt-get", "--quiet", ...args], {
			env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
			stdio: ["ignore", "ignore", "pipe"],
			encoding: "utf8",
		});
	try {
		apt("update");
		apt("install", "--yes", "--no-install-recommends", ...missing);
	} catch (error) {
		const { stderr, message } = error as Error & { stderr?: string };
		throw new LocalError(
			`${missing.join(", ")} can't be installed: ${stderr?.trim() || message}. Install them and start again.`,
		);
	}
}

const aptLock = "/tmp/tidemill-apt-get.lock";

/** @param program its name or its absolute path. */
export function isInstalled(program: string): boolean {
	if (program.startsWith("/")) return existsSync(program);
	const which = spawnSync("which", [program], {
		stdio: "ignore",
		env: { PATH: pathOfRoot },
	});
	return which.status === 0;
}
