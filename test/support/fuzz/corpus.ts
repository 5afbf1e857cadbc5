import { readdirSync, readFileSync } from "node:fs";

/** The examples of a folder of the corpus: ordinary inputs, and each one that was ever read wrong, as a file of its bytes. */
export function corpusOf(folder: string): Buffer[] {
	const url = new URL(`../corpus/${folder}/`, import.meta.url);
	return readdirSync(url)
		.sort()
		.map((name) => readFileSync(new URL(name, url)));
}

/** `FUZZ_RUNS` makes a fuzz test longer, `FUZZ_SEED` takes other inputs. */
export function fuzzSettings(runs: number): { runs: number; seed: number } {
	const { FUZZ_RUNS, FUZZ_SEED } = process.env;
	return { runs: Number(FUZZ_RUNS ?? runs), seed: Number(FUZZ_SEED ?? 17) };
}
