import { Script } from "node:vm";
import type { Fuel } from "./metered/fuel.ts";
import type { Tools } from "./metered/tools.ts";

export type Program = (exports: object, tools: Tools, fuel: Fuel) => void;

/** @param cache of the same code, if {@link cacheOf} has made one: then V8 needn't read the code again. */
export function programOf(code: string, cache?: Uint8Array): Program {
	const script = scriptOf(code, cache && Buffer.from(cache));
	return script.runInThisContext() as Program;
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
