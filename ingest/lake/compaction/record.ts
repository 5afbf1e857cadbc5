import { setImmediate } from "node:timers/promises";
import type { DateFolder } from "../../../packages/bucket/object-keys.ts";
import type { Store } from "../../../packages/bucket/object-store.ts";
import { ListDivider } from "../../wire/manifest-text.ts";
import { isOutput, nameIn } from "../../wire/object-name.ts";
import {
	type Replacement,
	type Replacements,
	type ReplacingObject,
	replacedNames,
} from "../objects/replacements.ts";
import { requireVersion } from "../request/requirements.ts";

/**
 * The decision that outputs replace objects of a closed date, of its events or of those in quarantine. Each folder has at most one
 * (`If-None-Match: *`), and it is written after its outputs. Without outputs, compaction would gain nothing.
 */
export interface CompactionRecord extends DateFolder, Replacement {
	version: 1;
}

/** Makes a few milliseconds' work of a text of 6 MB, which the busiest date's record has. */
const charactersAtOnce = 256 * 1024;

/** Reads it in several turns of the event loop. Throws if this archive can't read the record. */
export async function readRecord(
	key: string,
	text: string,
): Promise<CompactionRecord> {
	const outputs: ReplacingObject[] = [];
	const divider = new ListDivider("outputs");
	for (let at = 0; at < text.length; at += charactersAtOnce) {
		if (at > 0) await setImmediate();
		const slice = text.slice(at, at + charactersAtOnce);
		for (const output of divider.divide(slice))
			outputs.push(JSON.parse(output));
	}
	const record: CompactionRecord = { ...JSON.parse(divider.rest), outputs };
	return requireVersion(record, `The compaction record ${key}`);
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

export class CompactionStore implements Replacements {
	readonly #store: Store;

	constructor(store: Store) {
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
