import { setImmediate } from "node:timers/promises";
import type { DateFolder } from "../../archive/s3/object-keys.ts";
import type { ObjectStore } from "../../archive/s3/object-store.ts";
import { ListDivider } from "../../wire/manifest-text.ts";
import { isOutput, nameIn } from "../../wire/object-name.ts";

/**
 * The decision that outputs replace objects of a closed date, of its events or of those in quarantine. Each folder has at most one
 * (`If-None-Match: *`), and it is written after its outputs. An object that it doesn't name as an input still counts itself.
 */
export interface CompactionRecord extends DateFolder {
	version: 1;
	/** Empty if compaction would gain nothing. */
	outputs: CompactionOutput[];
}

/** All names are names of objects in the date's folder. */
export interface CompactionOutput {
	name: string;
	rows: number;
	bytes: number;
	sha256: string;
	/**
	 * The objects that it replaces, in the order of their cuts. It holds exactly their events. All are of one stream, but in records of
	 * earlier versions.
	 */
	inputs: string[];
	/** When the first and the last event of each input were received, ms since 1970. Absent in records of earlier versions. */
	inputTimes?: [fromMs: number, toMs: number][];
}

/** Makes a few milliseconds' work of a text of 6 MB, which the busiest date's record has. */
const charactersAtOnce = 256 * 1024;

/** Reads it in several turns of the event loop. Throws if this archive can't read the record. */
export async function readRecord(
	key: string,
	text: string,
): Promise<CompactionRecord> {
	const outputs: CompactionOutput[] = [];
	const divider = new ListDivider("outputs");
	for (let at = 0; at < text.length; at += charactersAtOnce) {
		if (at > 0) await setImmediate();
		const slice = text.slice(at, at + charactersAtOnce);
		for (const output of divider.divide(slice))
			outputs.push(JSON.parse(output));
	}
	const record: CompactionRecord = { ...JSON.parse(divider.rest), outputs };
	if (record.version !== 1)
		throw new Error(
			`The compaction record ${key} has version ${record.version}; this archive knows version 1. Upgrade archive.`,
		);
	return record;
}

export interface VisibleObjects<Original> {
	originals: Original[];
	outputs: CompactionOutput[];
}

/**
 * The objects that hold each event of a date once: the outputs of its record, and the originals that no output replaces.
 * Without a record, exactly the originals.
 */
export function visibleObjects<Original>(
	originals: readonly Original[],
	nameOf: (original: Original) => string,
	record: CompactionRecord | undefined,
): VisibleObjects<Original> {
	const replaced = replacedNames(record);
	return {
		originals: originals.filter((original) => !replaced.has(nameOf(original))),
		outputs: record?.outputs ?? [],
	};
}

/**
 * The objects that now hold exactly the events of the named objects; undefined if a compaction has merged them with other
 * events.
 */
export function sameEvents<Original>(
	named: readonly Original[],
	nameOf: (original: Original) => string,
	record: CompactionRecord | undefined,
): VisibleObjects<Original> | undefined {
	const visible = visibleObjects(named, nameOf, record);
	const names = new Set(named.map(nameOf));
	const outputs = visible.outputs.filter(({ name }) => !names.has(name));
	return outputs.every(({ inputs }) => inputs.every((name) => names.has(name)))
		? { originals: visible.originals, outputs }
		: undefined;
}

/**
 * Names in a date's folder that no reader is told to read: the inputs of its record, and outputs that the record doesn't
 * name.
 */
export function supersededNames(
	names: readonly string[],
	record: CompactionRecord,
): string[] {
	const replaced = replacedNames(record);
	const outputs = new Set(record.outputs.map(({ name }) => name));
	return names.filter((name) =>
		isOutput(name) ? !outputs.has(name) : replaced.has(name),
	);
}

/**
 * Readers follow a manifest that is older than the compaction, by links that live for a day at most (manifest/manifests.ts).
 * The hour covers the making of the manifest.
 */
const readersMs = 25 * 3_600_000;

/**
 * Whether nobody can be reading the superseded objects: every link to them has expired. `recordedMs` is when the store
 * took the record. Both clocks must agree, since one may have jumped.
 */
export function hasOutlivedReaders(
	recordedMs: number,
	{ nowMs, storeNowMs }: { nowMs: number; storeNowMs: number },
): boolean {
	return Math.min(nowMs, storeNowMs) - recordedMs > readersMs;
}

/** Some hundred inputs each, which take a quarter of a millisecond. */
const outputsAtOnce = 16;

/** As JSON.stringify, in several turns of the event loop: the busiest date's text has 6 MB. */
async function textOf({ outputs, ...rest }: CompactionRecord): Promise<string> {
	const texts: string[] = [];
	for (const output of outputs) {
		if (texts.length % outputsAtOnce === 0) await setImmediate();
		texts.push(JSON.stringify(output));
	}
	const text = JSON.stringify(rest);
	return `${text.slice(0, -1)},"outputs":[${texts.join(",")}]}`;
}

function replacedNames(record: CompactionRecord | undefined): Set<string> {
	return new Set(record?.outputs.flatMap(({ inputs }) => inputs));
}

export class CompactionStore {
	readonly #store: ObjectStore;

	constructor(store: ObjectStore) {
		this.#store = store;
	}

	/** Writes a record unless the date has one, and returns the record that is in the bucket. */
	async decide(record: CompactionRecord): Promise<CompactionRecord> {
		const key = this.#store.keys.compaction(record);
		const text = await textOf(record);
		const written = await this.#store.putNew(key, text, "application/json");
		if (written === "created") return record;
		const existing = await this.read(key);
		if (!existing)
			throw new Error(`S3: ${key} existed and is gone. Trying again.`);
		return existing;
	}

	/** The folder's record; undefined if it isn't compacted. */
	of(folder: DateFolder): Promise<CompactionRecord | undefined> {
		return this.read(this.#store.keys.compaction(folder));
	}

	/** Whether an output of the folder's compaction holds the events of the object with this key. */
	async hasReplaced(folder: DateFolder, key: string): Promise<boolean> {
		const record = await this.of(folder);
		const name = nameIn(key);
		return record?.outputs.some(({ inputs }) => inputs.includes(name)) ?? false;
	}

	async read(key: string): Promise<CompactionRecord | undefined> {
		const text = await this.#store.get(key);
		return text === undefined ? undefined : readRecord(key, text);
	}
}
