import type { DateFolder } from "../../../packages/bucket/object-keys.ts";

/** Which objects of a date's folder are replaced. An object that it doesn't name as an input still counts itself. */
export interface Replacement {
	outputs: ReplacingObject[];
}

/** All names are names of objects in the date's folder. */
export interface ReplacingObject {
	name: string;
	rows: number;
	bytes: number;
	sha256: string;
	/**
	 * The objects that it replaces, in the order of their cuts. It holds exactly their events. All are of one stream, but in
	 * records of 0.1.
	 */
	inputs: string[];
	/** When the first and the last event of each input were received, ms since 1970. Absent in records of 0.1. */
	inputTimes?: [fromMs: number, toMs: number][];
}

/** What replaces objects: whoever does registers this with the lake. */
export interface Replacements {
	/** Undefined if nothing of the folder is replaced. */
	of(folder: DateFolder): Promise<Replacement | undefined>;
	/** Whether another object holds the events of the object with this key. */
	hasReplaced(folder: DateFolder, key: string): Promise<boolean>;
}

export interface VisibleObjects<Original> {
	originals: Original[];
	outputs: ReplacingObject[];
}

/**
 * The objects that hold each event of a date once: the outputs of its record, and the originals that no output replaces.
 * Without a record, exactly the originals.
 */
export function visibleObjects<Original>(
	originals: readonly Original[],
	nameOf: (original: Original) => string,
	record: Replacement | undefined,
): VisibleObjects<Original> {
	const replaced = replacedNames(record);
	return {
		originals: originals.filter((original) => !replaced.has(nameOf(original))),
		outputs: record?.outputs ?? [],
	};
}

/** An object that holds events of a date, and the names of those that it replaces. */
export interface CountedObject {
	name: string;
	rows: number;
	inputs?: readonly string[];
}

/**
 * The objects with the events that some shards have of a date, each once: what replaces others, and what isn't replaced.
 * @param isOwn Whether the object with this name is of the shards.
 */
export function objectsOfShards<Original extends { rows: number }>(
	isOwn: (name: string) => boolean,
	objects: readonly Original[],
	nameOf: (object: Original) => string,
	record: Replacement | undefined,
): CountedObject[] {
	const { originals, outputs } = visibleObjects(objects, nameOf, record);
	// A Source may have moved on that date: then the record has the objects of one of its shards.
	const own = outputs.filter(({ inputs }) => inputs.some(isOwn));
	return [
		...own.map(({ name, rows, inputs }) => ({ name, rows, inputs })),
		...originals.map((one) => ({ name: nameOf(one), rows: one.rows })),
	];
}

/**
 * The objects that now hold exactly the events of the named objects; undefined if they were merged with other
 * events.
 */
export function sameEvents<Original>(
	named: readonly Original[],
	nameOf: (original: Original) => string,
	record: Replacement | undefined,
): VisibleObjects<Original> | undefined {
	const visible = visibleObjects(named, nameOf, record);
	const names = new Set(named.map(nameOf));
	const outputs = visible.outputs.filter(({ name }) => !names.has(name));
	return outputs.every(({ inputs }) => inputs.every((name) => names.has(name)))
		? { originals: visible.originals, outputs }
		: undefined;
}

export function replacedNames(record: Replacement | undefined): Set<string> {
	return new Set(record?.outputs.flatMap(({ inputs }) => inputs));
}
