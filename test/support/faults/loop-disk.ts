import { execFile, execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, open, rm, statfs, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { onTestFinished } from "vitest";
import { type TestServer, temporaryDirectory } from "../servers/test-server.ts";
import { freeze } from "./frozen-process.ts";

const execute = promisify(execFile);
const mib = 1024 * 1024;

/**
 * A small disk with a file system of its own (ext4 on a loop device): it can be full, and its power can fail. Needs root on Linux.
 *
 * What a program writes reaches the device when the program, or the kernel half a minute later, syncs it. So the
 * device's bytes at one instant are what a power loss at that instant leaves behind.
 */
export class LoopDisk {
	/** Where it is mounted. */
	readonly directory: string;
	#image: string;

	private constructor(directory: string, image: string) {
		this.directory = directory;
		this.#image = image;
	}

	/**
	 * Whether such disks can be made here. Where they can't, it says loudly that power losses and full disks go untested;
	 * with CI set it throws, so that the gap can't go unnoticed.
	 */
	static async isPossible(): Promise<boolean> {
		try {
			const disk = await LoopDisk.make(8);
			await disk.remove();
			return true;
		} catch (error) {
			const gap = `POWER LOSS AND FULL DISKS ARE NOT TESTED: no disk can be made on a loop device, which takes Linux and root. ${(error as Error).message.trim()}`;
			if (process.env.CI) throw new Error(gap);
			console.warn(gap);
			return false;
		}
	}

	static async make(megabytes: number): Promise<LoopDisk> {
		const directory = await temporaryDirectory("disk");
		// In memory where that can be: a sync costs nothing there.
		const home = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
		const image = join(home, `${directory.split("/").at(-1)}-0.img`);
		const disk = new LoopDisk(directory, image);
		try {
			await writeFile(image, "");
			await truncate(image, megabytes * mib);
			await execute("mkfs.ext4", ["-q", "-F", "-m", "0", image]);
			await disk.#mount();
		} catch (error) {
			await disk.remove();
			throw error;
		}
		return disk;
	}

	/** Leaves no room on it. */
	async fill(): Promise<void> {
		const { bavail, bsize } = await statfs(this.directory);
		const ballast = await open(this.#ballast, "w");
		try {
			// The file system needs some of it for itself.
			const size = String(Math.max(1, bavail * bsize - 2 * mib));
			await execute("fallocate", ["-l", size, this.#ballast]);
			for (let at = Number(size); ; at += mib)
				await ballast.write(Buffer.alloc(mib), 0, mib, at);
		} catch (error) {
			if (!`${error}`.match(/ENOSPC|No space left/)) throw error;
		} finally {
			await ballast.close();
		}
	}

	/** Gives back what {@link fill} took. */
	async free(): Promise<void> {
		await rm(this.#ballast, { force: true });
	}

	/** Brings everything to the device, as the kernel does sooner or later. */
	async sync(): Promise<void> {
		await execute("sync", ["--file-system", this.directory]);
	}

	/** The power fails: the server that writes to the disk dies, and with it all that it hasn't synced. */
	async losePower(server: TestServer): Promise<void> {
		await freeze(server.pid);
		const left = `${this.#image.replace(/-\d+\.img$/, "")}-${Date.now()}.img`;
		await execute("cp", ["--sparse=always", this.#image, left]);
		await server.kill();
		await execute("umount", [this.directory]);
		await rm(this.#image);
		this.#image = left;
		await this.#mount();
	}

	async remove(): Promise<void> {
		mounted.delete(this.directory);
		await execute("umount", ["--lazy", this.directory]).catch(() => undefined);
		await rm(this.#image, { force: true });
		await rm(this.directory, { recursive: true, force: true });
	}

	get #ballast(): string {
		return join(this.directory, "ballast");
	}

	async #mount(): Promise<void> {
		// noauto_da_alloc: a file that is renamed over another isn't synced by courtesy. commit: nor is anything by the clock.
		const options = "loop,noauto_da_alloc,commit=300";
		await execute("mount", ["-o", options, this.#image, this.directory]);
		mounted.add(this.directory);
	}
}

/**
 * The directory of a disk in memory, of a size that may be a few pages, until the test ends. Whatever user may write to it. Needs
 * root on Linux.
 */
export async function memoryDisk(
	size: string,
): Promise<{ directory: string; grow: (size: string) => Promise<void> }> {
	const directory = await temporaryDirectory("small-disk");
	await chmod(directory, 0o755);
	const mount = async (options: string) => {
		const about = ["-t", "tmpfs", "-o", options, "tmpfs", directory];
		await execute("mount", about);
	};
	await mount(`size=${size},mode=777`);
	mounted.add(directory);
	onTestFinished(async () => {
		mounted.delete(directory);
		await execute("umount", ["--lazy", directory]);
		await rm(directory, { recursive: true, force: true });
	});
	return { directory, grow: (size) => mount(`remount,size=${size}`) };
}

/** No test run leaves a mount behind, however it ends. */
const mounted = new Set<string>();
process.on("exit", () => {
	for (const directory of mounted)
		execFileSync("umount", ["--lazy", directory], { stdio: "ignore" });
});
