import { createHash } from "node:crypto";

/**
 * An object that a Run got of a source's events before their cut. The events are in objects of cuts later: those of the
 * stream whose cuts begin at one of these sequences have all of them, and perhaps more.
 */
export interface EarlyObject {
	stream: string;
	first: number;
	last: number;
	rows: number;
}

/** The same events have the same name, whichever Run gets them. */
export function earlyName({ stream, first, last, rows }: EarlyObject): string {
	return `${stream}-${padded(first)}-${padded(last)}-${rows}.parquet`;
}

/** Undefined for an object of another kind. */
export function readEarlyName(name: string): EarlyObject | undefined {
	const found = /^(.+)-(\d{20})-(\d{20})-(\d+)\.parquet$/.exec(name);
	if (!found) return undefined;
	const [, stream, ...numbers] = found as unknown as string[];
	const [first, last, rows] = numbers.map(Number) as [number, number, number];
	return { stream: stream!, first, last, rows };
}

/** Whether an object, early or of a cut, may have events of this one. Others have none. */
export function follows(name: string, early: EarlyObject): boolean {
	const [, stream, first] =
		/^(.+?)-(\d{20})(?:-\d{20}-\d+)?\.parquet$/.exec(name) ?? [];
	return (
		stream === early.stream &&
		Number(first) >= early.first &&
		Number(first) <= early.last
	);
}

function padded(sequence: number): string {
	return String(sequence).padStart(20, "0");
}

/** The name of an object, without its folder. */
export function nameIn(key: string): string {
	return key.slice(key.lastIndexOf("/") + 1);
}

const outputPrefix = "compacted-";

/**
 * The name of the object that replaces these. It derives from their names, so compactors of the same objects write the
 * same rows under the same name, and compactors of other objects use another name. A load that has read these objects
 * knows by the name that it holds the object's rows.
 * @param inputs in the order of their cuts.
 */
export function outputName(inputs: readonly string[]): string {
	const hash = createHash("sha256").update(inputs.join("\n")).digest("hex");
	return `${outputPrefix}${hash.slice(0, 32)}.parquet`;
}

/** Whether a compaction wrote the object. Then it counts only if the date's record names it. */
export function isOutput(name: string): boolean {
	return name.startsWith(outputPrefix);
}
