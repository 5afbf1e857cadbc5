import { Script } from "node:vm";
import type { Fuel } from "./metered/fuel.ts";
import type { PlanTools } from "./metered/tools.ts";

export type PlanProgram = (
	exports: object,
	tools: PlanTools,
	fuel: Fuel,
) => void;

/** @param cache of the same code, if {@link cacheOf} has made one: then V8 needn't read the code again. */
export function programOf(code: string, cache?: Uint8Array): PlanProgram {
	const script = scriptOf(code, cache && Buffer.from(cache));
	return script.runInThisContext() as PlanProgram;
}

/**
 * What V8 needs to run the code in another thread of this process. Reading the code of GitHub's plan takes a quarter of a
 * second, for which the events of others would wait.
 */
export function cacheOf(code: string): Uint8Array {
	return scriptOf(code).createCachedData();
}

function scriptOf(code: string, cachedData?: Buffer): Script {
	return new Script(`(function (exports, tools, fuel) {${code}\n})`, {
		...(cachedData && { cachedData }),
	});
}
