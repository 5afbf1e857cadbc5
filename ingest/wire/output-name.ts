import { createHash } from "node:crypto";

const prefix = "compacted-";

/**
 * The name of the object that replaces these. It derives from their names, so compactors of the same objects write the
 * same rows under the same name, and compactors of other objects use another name. A load that has read these objects
 * knows by the name that it holds the object's rows.
 * @param inputs in the order of their cuts.
 */
export function outputName(inputs: readonly string[]): string {
	const hash = createHash("sha256").update(inputs.join("\n")).digest("hex");
	return `${prefix}${hash.slice(0, 32)}.parquet`;
}

/** Whether a compaction wrote the object. Then it counts only if the date's record names it. */
export function isOutput(name: string): boolean {
	return name.startsWith(prefix);
}
