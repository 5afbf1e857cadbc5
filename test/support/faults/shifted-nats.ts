import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, constants, openSync, writeSync } from "node:fs";
import {
	access,
	mkdir,
	readFile,
	rename,
	rm,
	writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { goFlags } from "../../../local/binaries/build.ts";
import { pinnedBinaries } from "../../../local/binaries/pinned.ts";
import { cacheDirectory } from "../../../packages/service/cache.ts";
import { project } from "../servers/role-server.ts";

const run = promisify(execFile);

/** Of a program of {@link shiftedNats}: the file that says by how many seconds its clock is ahead ({@link shiftClock}). */
export const shiftedClock = "SHIFTED_CLOCK";

/** Sets the clock of whoever has this file: its 8 bytes change in place, since they are mapped. */
export function shiftClock(file: string, aheadMs: number): void {
	const bytes = new BigInt64Array([BigInt(Math.trunc(aheadMs / 1_000))]);
	const handle = openSync(file, constants.O_RDWR | constants.O_CREAT);
	writeSync(handle, bytes, 0, 8, 0);
	closeSync(handle);
}

const now = "	sec, nsec, mono := runtimeNow()\n";

/**
 * The pinned nats-server, built with a package time whose wall clock can be set while it runs (`go build -overlay`). Kept in
 * the cache under its version and what it was built with. Takes Go, and minutes the first time.
 */
export async function shiftedNats(): Promise<string> {
	const { version, module, package: main } = pinnedBinaries["nats-server"];
	const env = { ...process.env, CGO_ENABLED: "0", GOWORK: "off" };
	const cwd = join(project, "local/modules", module);
	const go = async (...args: string[]) =>
		(await run("go", args, { cwd, env, maxBuffer: 2 ** 24 })).stdout.trim();
	const folder = join(await go("env", "GOROOT"), "src/time");
	const added = join(import.meta.dirname, "shifted-clock.go.txt");
	const parts = (await readFile(join(folder, "time.go"), "utf8")).split(now);
	if (parts.length !== 2)
		throw new Error(
			`${folder}/time.go has ${parts.length - 1} times the line that reads the clock. Make the overlay fit this version of Go.`,
		);
	const changed = parts.join(`${now}	sec += shiftedBy()\n`);
	const digest = createHash("sha256")
		.update(changed)
		.update(await readFile(added))
		.digest("hex")
		.slice(0, 16);
	const program = join(
		cacheDirectory(process.env),
		`nats-server-${version}-shifted-${digest}`,
	);
	if (
		await access(program).then(
			() => true,
			() => false,
		)
	)
		return program;
	const scratch = `${program}.build-${process.pid}`;
	await mkdir(scratch, { recursive: true });
	try {
		const file = join(scratch, "time.go");
		await writeFile(file, changed);
		const overlay = join(scratch, "overlay.json");
		const Replace = {
			[join(folder, "time.go")]: file,
			[join(folder, "shifted.go")]: added,
		};
		await writeFile(overlay, JSON.stringify({ Replace }));
		const built = join(scratch, "nats-server");
		await go(
			"build",
			...goFlags,
			"-overlay",
			overlay,
			"-ldflags",
			"-s -w",
			"-o",
			built,
			main,
		);
		await rename(built, program);
		return program;
	} finally {
		await rm(scratch, { recursive: true, force: true });
	}
}
