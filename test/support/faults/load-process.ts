import { readdir, readFile } from "node:fs/promises";
import { vi } from "vitest";

/** Waits until a `tidemill load` runs in the local Tidemill with this folder, and sends it SIGKILL. */
export async function killLoad(home: string): Promise<void> {
	await vi.waitFor(
		async () => {
			const pid = await loadOf(home);
			if (pid === undefined) throw new Error("no load is running");
			process.kill(pid, "SIGKILL");
		},
		{ timeout: 120_000, interval: 20 },
	);
}

/** By the arguments and the environment of each process (proc_pid_cmdline(5), proc_pid_environ(5)). */
async function loadOf(home: string): Promise<number | undefined> {
	for (const pid of await readdir("/proc")) {
		if (!/^\d+$/.test(pid)) continue;
		const read = (file: string) =>
			readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "");
		const isLoad = /tidemill\.[jt]s\0load\0/.test(await read("cmdline"));
		if (isLoad && (await read("environ")).includes(home)) return Number(pid);
	}
	return undefined;
}
