import { stat } from "node:fs/promises";
import { fileDigest } from "../../../packages/bucket/object-read.ts";
import type { Store } from "../../../packages/bucket/object-store.ts";
import type { IndexedObject } from "../../archive/ledger/date-objects.ts";
import { nameIn, outputName } from "../../wire/object-name.ts";
import { AcceptedLosses } from "../missing/accepted-losses.ts";
import {
	type FileContents,
	OutOfMemory,
	type Rewriter,
} from "../objects/parquet-rewriter.ts";
import { fitTogether, rowGroupSize, sizeOf } from "../objects/parquet-size.ts";
import type { ReplacingObject } from "../objects/replacements.ts";
import type { DueDate } from "./due-dates.ts";
import type { CompactionRecord } from "./record.ts";

const downloadsAtOnce = 8;

/** An object isn't what the ledger or its inputs say. The date stays as it is. */
export class CompactionMismatch extends Error {
	override name = "CompactionMismatch";
}

export interface DateCompactionOptions {
	store: Store;
	rewriter: Rewriter;
	/** Settles when no shard is behind. Throws if the date must not be compacted any more. */
	idle: () => Promise<void>;
}

type Output = Pick<ReplacingObject, "rows" | "bytes" | "sha256">;

interface Input {
	name: string;
	stream: string;
	file: string;
	contents: FileContents;
}

/**
 * Writes the objects that replace a date's objects, and verifies that they hold the same events. Returns the record that
 * makes them count. Can be repeated, also by two compactors at once: the outputs are the same.
 * The disk holds one output at a time, with its inputs.
 */
export class DateCompaction {
	readonly #options: DateCompactionOptions;
	readonly #due: DueDate;
	readonly #outputs: ReplacingObject[] = [];
	/** Keys of the objects that this compaction has put into the store, or tried to. */
	readonly written: string[] = [];

	constructor(options: DateCompactionOptions, due: DueDate) {
		this.#options = options;
		this.#due = due;
	}

	/** Throws {@link CompactionMismatch}. */
	async run(): Promise<CompactionRecord> {
		const { objects, ...folder } = this.#due;
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
				// A release goes through quarantine by streams.
				const isOfSame = group.at(-1)?.stream === input.stream;
				const fits = group.length === 0 || (isOfSame && fitTogether(together));
				if (!fits) await this.#replace(group);
				size = fits ? together : sizeOf([input.contents]);
				if (fits) group.push(input);
				else group = [input];
			}
		}
		await this.#replace(group);
		return { version: 1, ...folder, outputs: this.#outputs };
	}

	async #download(objects: IndexedObject[]): Promise<Input[]> {
		const { store, rewriter } = this.#options;
		const downloaded = await settled(
			objects.map(async ({ stream, first, rows }) => {
				const key = store.keys.events(this.#due, stream, first);
				const file = rewriter.newFile();
				if ((await store.getFile(key, file)) !== undefined)
					return { key, file, stream, rows };
				// It stays an object of its own, which Runs leave out until it comes back.
				const isAccepted = await new AcceptedLosses(store).of(this.#due);
				if (isAccepted(key)) return undefined;
				throw new CompactionMismatch(`The object ${key} is not in the bucket`);
			}),
		);
		const files = downloaded.filter((file) => file !== undefined);
		const all = await rewriter.contents(files.map(({ file }) => file));
		return files.map(({ key, file, stream, rows }, index) => {
			const contents = all[index]!;
			if (contents.rows !== rows)
				throw new CompactionMismatch(
					`The object ${key} holds ${contents.rows} rows, but the ledger says ${rows}`,
				);
			return { name: nameIn(key), stream, file, contents };
		});
	}

	/** Replaces objects by one, or by several if one needs too much memory. A single object stays as it is. */
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
		await this.#options.rewriter.remove(group.map(({ file }) => file));
	}

	async #write(group: Input[]): Promise<ReplacingObject> {
		const inputs = group.map(({ name }) => name);
		const name = outputName(inputs);
		const key = this.#options.store.keys.eventsOfDate(this.#due) + name;
		const output =
			(await this.#existing(key, group)) ?? (await this.#make(key, group));
		const { rows, bytes, sha256 } = output;
		const inputTimes = group.map(
			({ contents: { fromMs, toMs } }): [number, number] => [fromMs, toMs],
		);
		return { name, rows, bytes, sha256, inputs, inputTimes };
	}

	/** The output that is in the store, whoever wrote it; undefined if there is none. */
	async #existing(key: string, group: Input[]): Promise<Output | undefined> {
		const { store, rewriter } = this.#options;
		const file = rewriter.newFile();
		const sha256 = await store.getFile(key, file);
		if (sha256 === undefined) return undefined;
		const { rows } = await this.#verify(file, group, `The object ${key}`);
		const { size: bytes } = await stat(file);
		await rewriter.remove([file]);
		return { rows, bytes, sha256 };
	}

	async #make(key: string, group: Input[]): Promise<Output> {
		const { store, rewriter } = this.#options;
		const size = sizeOf(group.map(({ contents }) => contents));
		const file = await rewriter.merge(
			group.map((input) => input.file),
			rowGroupSize(size),
		);
		const { rows } = await this.#verify(
			file,
			group,
			`The file made for ${key}`,
		);
		const own = {
			rows,
			bytes: (await stat(file)).size,
			sha256: await fileDigest(file),
		};
		const type = "application/vnd.apache.parquet";
		this.written.push(key);
		const written = await store.putNewFile(key, file, type);
		await rewriter.remove([file]);
		if (written === "created") return own;
		// Another compactor was first: what counts is the object in the store.
		const existing = await this.#existing(key, group);
		if (!existing) throw new CompactionMismatch(`The object ${key} is gone`);
		return existing;
	}

	async #verify(
		file: string,
		inputs: readonly Input[],
		what: string,
	): Promise<FileContents> {
		const found = (await this.#options.rewriter.contents([file]))[0]!;
		let [rows, hashes] = [0, 0n];
		for (const { contents } of inputs) {
			rows += contents.rows;
			hashes += contents.hashes;
		}
		if (found.rows !== rows || found.ids !== rows || found.hashes !== hashes)
			throw new CompactionMismatch(
				`${what} has ${found.rows} rows with ${found.ids} different ids, but the ${inputs.length} objects that it replaces have ${rows}, or other rows. Nothing was replaced. Compare them, and delete the wrong one`,
			);
		return found;
	}
}

/** Like Promise.all, but waits for all calls before it throws, so that the files' folder can be removed. */
async function settled<T>(calls: Promise<T>[]): Promise<T[]> {
	await Promise.allSettled(calls);
	return Promise.all(calls);
}
