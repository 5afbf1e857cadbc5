// On a laptop nothing proves this: it installs Postgres anew.
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const script = `
	import { withLock } from ${JSON.stringify(join(import.meta.dirname, "../../../local/machine/lock.ts"))};
	import { prepare } from ${JSON.stringify(join(import.meta.dirname, "local-server.ts"))};
	const installs = [];
	await prepare({
		directory: process.env.DIRECTORY,
		port: 1,
		password: "x",
		onInstall: (text) => installs.push(text),
		alone: (folder, action) =>
			folder === process.env.HELD
				? Promise.reject(new Error("It waits for " + folder))
				: withLock(folder + "/lock", () => {}, action),
	});
	console.log(installs.length);
`;

test("of two starts that find no Postgres one installs it, and both use it", async () => {
	const cache = mkdtempSync(join(tmpdir(), "tidemill-cache-"));
	const start = async (name: string, held = "") => {
		const { stdout } = await promisify(execFile)(
			process.execPath,
			["--input-type=module", "-e", script],
			{
				env: {
					...process.env,
					TIDEMILL_CACHE: cache,
					HELD: held,
					DIRECTORY: join(mkdtempSync(join(tmpdir(), name)), "postgres"),
				},
			},
		);
		return Number(stdout);
	};
	const installs = await Promise.all([start("one-"), start("two-")]);
	expect(installs.toSorted()).toEqual([0, 1]);
	// Whoever builds another program holds the lock of the cache.
	expect(await start("three-", cache)).toBe(0);
	expect(readdirSync(cache)).toEqual(["postgres-18.4"]);
});
