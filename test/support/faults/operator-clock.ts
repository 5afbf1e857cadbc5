import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { passingDirectory } from "./passing-directory.ts";

/** A steady clock for a program that a test moves ahead: its file, and the environment in which the program goes by it. */
export class AheadClock {
	readonly #file: string;

	static async make(): Promise<AheadClock> {
		const file = join(await passingDirectory("clock"), "ahead");
		await writeFile(file, "0");
		return new AheadClock(file);
	}

	private constructor(file: string) {
		this.#file = file;
	}

	get env(): Record<string, string> {
		const preload = new URL("ahead-clock.ts", import.meta.url).href;
		return { TEST_AHEAD: this.#file, NODE_OPTIONS: `--import ${preload}` };
	}

	/** @param aheadMs of the time since the program's start. */
	async moveTo(aheadMs: number): Promise<void> {
		await writeFile(this.#file, String(aheadMs));
	}
}
