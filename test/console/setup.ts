import { execFileSync } from "node:child_process";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { installPackages } from "../../local/binaries/debian-packages.ts";
import { startLocalMode } from "../support/servers/local-mode.ts";
import { chromiumPath, noBrowser, shareBrowser } from "./browser.ts";

/** Builds the console, and starts one local Tidemill and one browser for all files, each of which works in a namespace of its own. */
export default async function setup(
	project: TestProject,
): Promise<(() => Promise<void>) | undefined> {
	if (chromiumPath() === undefined) {
		if (!process.env.CI) {
			if (process.env.CONSOLE_SCREENSHOTS) throw new Error(noBrowser);
			console.warn(`The tests of the console are skipped. ${noBrowser}`);
			// The files skip, and need nothing.
			return undefined;
		}
		installPackages({ "/usr/bin/chromium": "chromium" }, console.error);
	}
	execFileSync(process.execPath, ["tools/console/build.ts"], {
		cwd: join(import.meta.dirname, "../.."),
		stdio: ["ignore", "inherit", "inherit"],
	});
	const { home, stop } = await startLocalMode();
	project.provide("localMode", home);
	const browser = await shareBrowser();
	return async () => {
		await browser.close();
		await stop();
	};
}
