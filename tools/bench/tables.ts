import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cellsOf, headings } from "./measure/figures.ts";
import type { Conditions } from "./measure/machine.ts";
import type { Measurement } from "./measure/measurement.ts";

/**
 * Puts the latest figures into tools/bench/README.md: `node tools/bench/tables.ts`, after `make bench`. The table of a bench stands between
 * `<!-- figures receive -->` and `<!-- end -->`. One with settings is named with them: `<!-- figures load BENCH_EVENTS=10000000 -->`.
 * tools/bench/figures.jsonl keeps the lines that the tables are made of.
 */
async function main(measured: string): Promise<void> {
	const kept = linesOf(await readFile(figuresFile, "utf8"));
	const lines = latest(kept, linesOf(await readFile(measured, "utf8")));
	await writeFile(
		figuresFile,
		lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
	);
	const readme = await readFile(readmeFile, "utf8");
	await writeFile(readmeFile, withTables(readme, lines));
}

export type Line = { bench: string } & Measurement & Conditions;

export const readmeFile = join(import.meta.dirname, "README.md");
export const figuresFile = join(import.meta.dirname, "figures.jsonl");

export function linesOf(text: string): Line[] {
	const lines = text.split("\n").filter(Boolean);
	// Lines from before figures had rounds make no table.
	return lines.map((line) => JSON.parse(line)).filter(({ rounds }) => rounds);
}

/** The lines of the newest run of each bench and its settings. */
export function latest(
	kept: readonly Line[],
	measured: readonly Line[],
): Line[] {
	const newest = new Map<string, Line[]>();
	for (const line of [...kept, ...measured]) {
		const name = nameOf(line);
		const run = newest.get(name);
		if (!run || line.date > run[0]!.date) newest.set(name, [line]);
		else if (line.date === run[0]!.date && !run.some(isOf(line.metric)))
			run.push(line);
	}
	return [...newest.values()].flat();
}

function isOf(metric: string): (line: Line) => boolean {
	return (line) => line.metric === metric;
}

/** Replaces what stands between the markers of the benches that have figures. */
export function withTables(readme: string, lines: readonly Line[]): string {
	const byName = Map.groupBy(lines, nameOf);
	return readme.replace(
		/(<!-- figures (.+) -->\n)[\s\S]*?(<!-- end -->)/g,
		(whole, start: string, name: string, end: string) => {
			const run = byName.get(name);
			return run ? `${start}\n${tableOf(run)}\n\n${end}` : whole;
		},
	);
}

function nameOf({ bench, settings }: Line): string {
	return settings ? `${bench} ${settings}` : bench;
}

function tableOf(run: readonly Line[]): string {
	const { date, commit, cpu, node, load } = run[0]!;
	const rows = [headings, headings.map(() => "---"), ...run.map(cellsOf)];
	const table = rows.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
	const loads = load.map((average) => average.toFixed(1)).join(" and ");
	return `${table}\n\n${date.slice(0, 10)}, commit ${commit}, ${cpu}, Node ${node}, load average before and after ${loads}. Medians, with the least and the most of the rounds.`;
}

if (import.meta.main)
	await main(
		process.argv[2] ??
			join(
				process.env.TIDEMILL_HOME ||
					join(import.meta.dirname, "../../.tidemill"),
				"bench.jsonl",
			),
	);
