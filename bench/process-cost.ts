import { readFile } from "node:fs/promises";

/** CPU time that a process has used until now, in milliseconds (proc(5): utime and stime, in ticks of 10 ms). */
export async function cpuMs(pid: number): Promise<number> {
	const stat = await readFile(`/proc/${pid}/stat`, "utf8");
	// After the name, which may hold spaces; the state is field 3.
	const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
	return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Memory that a process has resident now, and the most it ever had, in bytes. */
export async function memory(
	pid: number,
): Promise<{ residentBytes: number; peakBytes: number }> {
	const status = await readFile(`/proc/${pid}/status`, "utf8");
	const bytes = (name: string) =>
		Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024;
	return { residentBytes: bytes("VmRSS"), peakBytes: bytes("VmHWM") };
}
