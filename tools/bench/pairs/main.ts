import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { baseOf, checkOut } from "./checkout.ts";
import { type Pair, type Verdict, verdictOf } from "./decide.ts";

/**
 * Whether the work tree is slower than the commit before the change: `node tools/bench/pairs/main.ts`, or with the names of some of
 * {@link compared}. Each tree runs its own benches, one after the other, `PAIRS` times (5; an odd number). What is slower is measured
 * again, and slower twice is red: exit code 1. `BASE` is another commit, and `BENCH_EVENTS` and the like change the sizes of both.
 */
async function main(names: string[]): Promise<number> {
	const base = baseOf(project);
	console.error(`base: ${base.slice(0, 8)}; tree: ${project}`);
	const say = (progress: string) => console.error(`  ${progress}`);
	checkOut(project, base, baseFolder, say);
	const slower: string[] = [];
	try {
		for (const name of names) {
			let verdicts = await compare(name);
			if (isSlower(verdicts)) {
				console.error(`${name} is slower: measures it once more`);
				const again = await compare(name);
				verdicts = verdicts.filter(
					({ is }, figure) => is === "slower" && again[figure]!.is === is,
				);
			}
			if (isSlower(verdicts)) slower.push(name);
		}
	} finally {
		await rm(baseFolder, { recursive: true, force: true });
	}
	if (slower.length > 0)
		console.log(`Slower than ${base.slice(0, 8)}: ${slower.join(", ")}.`);
	return slower.length > 0 ? 1 : 0;
}

interface ComparedBench {
	/** So small that all five pairs of the four take an hour. */
	settings: Record<string, string>;
	/** By the name of the measurement. */
	figures: Record<string, "less" | "more">;
}

const compared: Record<string, ComparedBench> = {
	load: {
		settings: { BENCH_PARTS: "whole", BENCH_ROUNDS: "3" },
		figures: { "time into DuckDB": "less", "CPU into DuckDB": "less" },
	},
	archive: {
		settings: {
			BENCH_PARTS: "stream",
			BENCH_EVENTS: "200000",
			BENCH_ROUNDS: "3",
		},
		figures: { throughput: "more", CPU: "less" },
	},
	receive: {
		settings: { BENCH_PARTS: "closed", BENCH_ROUNDS: "1" },
		figures: {
			"throughput at 128 connections, against plain fastify": "more",
			"CPU of receive at 128 connections": "less",
		},
	},
	"whole-path": {
		settings: { BENCH_PARTS: "closed", BENCH_ROUNDS: "3" },
		figures: {
			"throughput at 128 connections": "more",
			"CPU of all at 128 connections": "less",
		},
	},
};

const project = join(import.meta.dirname, "../../..");
const baseFolder = join(project, ".tidemill/base-of-pairs");
const count = Number(process.env.PAIRS || 5);

function isSlower(verdicts: readonly Verdict[]): boolean {
	return verdicts.some(({ is }) => is === "slower");
}

/** A verdict for each of the bench's figures. */
async function compare(name: string): Promise<Verdict[]> {
	const runs: { base: Figures; tree: Figures }[] = [];
	for (let pair = 0; pair < count; pair++) {
		// Each comes first in its turn, since a machine may become slower all the time.
		const order = pair % 2 === 0 ? sides : sides.toReversed();
		const found = new Map<Side, Figures>();
		for (const side of order) found.set(side, await measure(side, name));
		runs.push({ base: found.get("base")!, tree: found.get("tree")! });
		console.error(`  ${name}: pair ${pair + 1} of ${count}`);
	}
	return Object.entries(compared[name]!.figures).map(([figure, better]) => {
		const of = (figures: Figures) => figures.get(figure)!;
		const pairs = runs.map(
			({ base, tree }): Pair => ({ base: of(base), tree: of(tree) }),
		);
		const verdict = verdictOf(pairs, better);
		console.log(tableOf(`${name}: ${figure}`, pairs, verdict));
		return verdict;
	});
}

const sides = ["base", "tree"] as const;
type Side = (typeof sides)[number];
/** The value of each measurement, by its name. */
type Figures = Map<string, number>;

/** Runs the bench of a tree in a process of its own. */
async function measure(side: Side, name: string): Promise<Figures> {
	const folder = side === "base" ? baseFolder : project;
	const { settings, figures } = compared[name]!;
	const home = await mkdtemp(join(tmpdir(), "tidemill-pairs-"));
	try {
		const program = "tools/bench/run.ts";
		if (!existsSync(join(folder, program)))
			throw new Error(`The ${side} has no ${program}. Choose a later BASE.`);
		const child = spawn("node_modules/.bin/node", [program, name], {
			cwd: folder,
			env: { ...settings, ...process.env, TIDEMILL_HOME: home },
			stdio: ["ignore", "ignore", "pipe"],
		});
		const ended = new Promise((resolve) => child.on("exit", resolve));
		const told = await text(child.stderr);
		if ((await ended) !== 0)
			throw new Error(`The bench ${name} of the ${side} failed:\n${told}`);
		const lines = await readFile(join(home, "bench.jsonl"), "utf8");
		const measured: Figures = new Map(
			lines
				.trim()
				.split("\n")
				.map((line) => JSON.parse(line))
				.map(({ metric, value }) => [metric, value]),
		);
		for (const figure of Object.keys(figures))
			if (!measured.has(figure))
				throw new Error(
					`The bench ${name} of the ${side} has no figure "${figure}". Choose a later BASE.`,
				);
		return measured;
	} finally {
		await rm(home, { recursive: true, force: true });
	}
}

function tableOf(figure: string, pairs: Pair[], verdict: Verdict): string {
	const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
	const row = (side: Side) =>
		`  ${side}  ${pairs.map((pair) => pair[side].toPrecision(4).padStart(9)).join("")}`;
	const { cost, margin, is } = verdict;
	return [
		figure,
		row("base"),
		row("tree"),
		`  ${is}: ${percent(cost - 1)} dearer in the median, and ${percent(margin)} would be within the spread`,
	].join("\n");
}

const names = process.argv.slice(2);
const unknown = names.find((name) => !Object.hasOwn(compared, name));
if (unknown) {
	console.error(
		`There is no "${unknown}" to compare. Choose of: ${Object.keys(compared).join(", ")}.`,
	);
	process.exit(2);
}
process.exitCode = await main(
	names.length > 0 ? names : Object.keys(compared),
).catch((error: Error) => {
	console.error(error.message);
	return 2;
});
