import { rm, stat } from "node:fs/promises";
import type { IndexedObject } from "../ledger/ledger-index.ts";
import type { ObjectKeys } from "../s3/object-keys.ts";
import type { FileStore } from "../s3/object-store.ts";
import type { DueDate } from "./due-dates.ts";
import { fitTogether, rowGroupSize, sizeOf } from "./output-size.ts";
import {
	type CompactionOutput,
	type CompactionRecord,
	outputName,
} from "./record.ts";
import { type Contents, OutOfMemory, type Rewriter } from "./rewriter.ts";

const downloadsAtOnce = 8;

/** What stands in the bucket isn't what it must be; the date is left as it is. */
export class CompactionMismatch extends Error {
	override name = "CompactionMismatch";
}

export interface DateCompactionOptions {
	store: FileStore;
	keys: ObjectKeys;
	rewriter: Rewriter;
	/** Settles when the archive has nothing better to do. */
	idle: () => Promise<void>;
}

/** An object that was downloaded. */
interface Input {
	name: string;
	file: string;
	contents: Contents;
}

/**
 * Writes the objects that replace a date's, and makes sure that they stand in the store and hold the same events.
 * Returns the record that will make it so. May be repeated, also by two at once: the same objects come of it.
 * Holds on the disk one output at a time, with its inputs.
 */
export class DateCompaction {
	readonly #options: DateCompactionOptions;
	readonly #due: DueDate;
	readonly #outputs: CompactionOutput[] = [];

	constructor(options: DateCompactionOptions, due: DueDate) {
		this.#options = options;
		this.#due = due;
	}

	/** Throws {@link CompactionMismatch}. */
	async run(): Promise<CompactionRecord> {
		const { account, sourceKey, date, objects } = this.#due;
		let group: Input[] = [];
		let size = sizeOf([]);
		for (let at = 0; at < objects.length; at += downloadsAtOnce) {
			await this.#options.idle();
			const batch = objects.slice(at, at + downloadsAtOnce);
			for (const input of await this.#download(batch)) {
				const { rows, bytes } = input.contents;
				const together = {
					objects: size.objects + 1,
					rows: size.rows + rows,
					bytes: size.bytes + bytes,
				};
				const fits = group.length === 0 || fitTogether(together);
				if (!fits) await this.#replace(group);
				size = fits ? together : sizeOf([input.contents]);
				if (fits) group.push(input);
				else group = [input];
			}
		}
		await this.#replace(group);
		return { version: 1, account, sourceKey, date, outputs: this.#outputs };
	}

	async #download(objects: IndexedObject[]): Promise<Input[]> {
		const { store, keys, rewriter } = this.#options;
		const files = await settled(
			objects.map(async ({ stream, first }) => {
				const key = keys.events(this.#due, stream, first);
				const file = rewriter.newFile();
				if ((await store.getFile(key, file)) === undefined)
					throw new CompactionMismatch(
						`The object ${key} is not in the bucket`,
					);
				return { key, file };
			}),
		);
		const all = await rewriter.contents(files.map(({ file }) => file));
		return files.map(({ key, file }, index) => {
			const { rows } = objects[index]!;
			const contents = all[index]!;
			if (contents.rows !== rows)
				throw new CompactionMismatch(
					`The object ${key} holds ${contents.rows} rows where the ledger says ${rows}`,
				);
			const name = key.slice(key.lastIndexOf("/") + 1);
			return { name, file, contents };
		});
	}

	/** Replaces objects by one, or by several where they need too much memory; one alone stays as it is. */
	async #replace(group: Input[]): Promise<void> {
		if (group.length > 1) {
			await this.#options.idle();
			try {
				this.#outputs.push(await this.#write(group));
			} catch (error) {
				if (!(error instanceof OutOfMemory)) throw error;
				const half = Math.ceil(group.length / 2);
				await this.#replace(group.slice(0, half));
				await this.#replace(group.slice(half));
				return;
			}
		}
		await Promise.all(group.map(({ file }) => rm(file, { force: true })));
	}

	async #write(group: Input[]): Promise<CompactionOutput> {
		const { store, keys, rewriter } = this.#options;
		const inputs = group.map(({ name }) => name);
		const name = outputName(inputs);
		const key = keys.eventsOfDate(this.#due) + name;
		const standing = rewriter.newFile();
		let sha256 = await store.getFile(key, standing);
		if (sha256 === undefined) {
			await this.#make(key, group);
			sha256 = await store.getFile(key, standing);
		}
		if (sha256 === undefined)
			throw new CompactionMismatch(`The object ${key} is gone`);
		// Whoever wrote it: what counts is what stands there.
		const { rows } = await this.#verify(standing, group, `The object ${key}`);
		const { size: bytes } = await stat(standing);
		await rm(standing);
		return { name, rows, bytes, sha256, inputs };
	}

	async #make(key: string, group: Input[]): Promise<void> {
		const { store, rewriter } = this.#options;
		const size = sizeOf(group.map(({ contents }) => contents));
		const file = await rewriter.merge(
			group.map((input) => input.file),
			rowGroupSize(size),
		);
		await this.#verify(file, group, `What was made for ${key}`);
		await store.putNewFile(key, file, "application/vnd.apache.parquet");
		await rm(file);
	}

	async #verify(
		file: string,
		inputs: readonly Input[],
		what: string,
	): Promise<Contents> {
		const found = (await this.#options.rewriter.contents([file]))[0]!;
		let [rows, hashes] = [0, 0n];
		for (const { contents } of inputs) {
			rows += contents.rows;
			hashes += contents.hashes;
		}
		if (found.rows !== rows || found.ids !== rows || found.hashes !== hashes)
			throw new CompactionMismatch(
				`${what} holds ${found.rows} rows with ${found.ids} different ids where the ${inputs.length} objects that it replaces hold ${rows}, or other rows. Nothing was replaced: compare them, and delete what is wrong`,
			);
		return found;
	}
}

/** As Promise.all, but nothing is under way any more when it throws: the files' folder can go. */
async function settled<T>(calls: Promise<T>[]): Promise<T[]> {
	await Promise.allSettled(calls);
	return Promise.all(calls);
}
