import { appendFileSync, readdirSync, readFileSync } from "node:fs";
import type { Reporter, TestModule } from "vitest/node";
import { fieldsFromState } from "./report.ts";

/**
 * Writes the CPU time of each file to TEST_COSTS, a line each with its path, a tab and seconds: that of this process and all that it
 * has started, from the end of the file before on.
 */
export default class CpuReporter implements Reporter {
	#last = cpuSecondsOfTree(process.pid);

	onTestModuleEnd({ moduleId }: TestModule): void {
		const now = cpuSecondsOfTree(process.pid);
		appendFileSync(
			process.env.TEST_COSTS!,
			`${moduleId}\t${(now - this.#last).toFixed(2)}\n`,
		);
		this.#last = now;
	}
}

/** CPU time of a process, its children and theirs, ended ones included; 0 where the system doesn't say. */
function cpuSecondsOfTree(root: number): number {
	const all = processes();
	const childrenOf = Map.groupBy(all, ({ parent }) => parent);
	let seconds = 0;
	const open = all.filter(({ pid }) => pid === root);
	for (let one = open.pop(); one !== undefined; one = open.pop()) {
		seconds += one.seconds;
		open.push(...(childrenOf.get(one.pid) ?? []));
	}
	return seconds;
}

function processes(): { pid: number; parent: number; seconds: number }[] {
	try {
		return readdirSync("/proc")
			.filter((name) => /^\d+$/.test(name))
			.flatMap((name) => processOf(Number(name)) ?? []);
	} catch {
		return [];
	}
}

function processOf(pid: number) {
	try {
		const fields = fieldsFromState(readFileSync(`/proc/${pid}/stat`, "utf8"));
		const ticks = fields.slice(11, 15).map(Number);
		const seconds = ticks.reduce((sum, each) => sum + each, 0) / 100;
		return { pid, parent: Number(fields[1]), seconds };
	} catch {
		// It has ended.
		return undefined;
	}
}
