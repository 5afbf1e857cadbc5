import { appendFileSync, readdirSync, readFileSync } from "node:fs";
import type { Reporter, TestModule } from "vitest/node";

/** What a lane's files cost, a line each: its path, a tab, seconds. */
export function cpuFileOf(report: string): string {
	return report.replace(/\.json$/, ".cpu.tsv");
}

/** Writes the CPU time of each file: that of this process and all that it has started, from the end of the file before on. */
export default class CpuReporter implements Reporter {
	#last = cpuSecondsOfTree(process.pid);

	onTestModuleEnd({ moduleId }: TestModule): void {
		const now = cpuSecondsOfTree(process.pid);
		appendFileSync(
			cpuFileOf(process.env.TEST_REPORT!),
			`${moduleId}\t${(now - this.#last).toFixed(2)}\n`,
		);
		this.#last = now;
	}
}

/** CPU time of a process, its children and theirs, ended ones included; 0 where the system doesn't say (proc_pid_stat(5)). */
function cpuSecondsOfTree(root: number): number {
	const children = Map.groupBy(processes(), ({ parent }) => parent);
	let seconds = 0;
	const open = [root];
	for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
		seconds += statOf(pid)?.seconds ?? 0;
		open.push(...(children.get(pid) ?? []).map((child) => child.pid));
	}
	return seconds;
}

function processes(): { pid: number; parent: number }[] {
	try {
		return readdirSync("/proc")
			.filter((name) => /^\d+$/.test(name))
			.flatMap((name) => statOf(Number(name)) ?? []);
	} catch {
		return [];
	}
}

function statOf(pid: number) {
	try {
		const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
		// The name before it may have spaces and brackets.
		const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
		const ticks = fields.slice(11, 15).map(Number);
		const seconds = ticks.reduce((sum, each) => sum + each, 0) / 100;
		return { pid, parent: Number(fields[1]), seconds };
	} catch {
		// It has ended, or there is no /proc.
		return undefined;
	}
}
