import { randomBytes } from "node:crypto";
import { rm, stat } from "node:fs/promises";
import type { ReleaseFilter } from "../../../packages/contracts/archive.ts";
import { erasedKind } from "../../../packages/contracts/manifest.ts";
import { quoteText } from "../../../packages/duckdb/quoting.ts";
import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import { objectId } from "../../../packages/service/withheld.ts";
import type { IndexedObject } from "../../archive/ledger/date-objects.ts";
import {
	cutOfName,
	type DateFolder,
	type ObjectKeys,
} from "../../archive/s3/object-keys.ts";
import type { FileStore, ObjectStore } from "../../archive/s3/object-store.ts";
import { fitPart, rowGroupSize, sizeOf } from "../compaction/output-size.ts";
import {
	type CompactionRecord,
	CompactionStore,
	visibleObjects,
} from "../compaction/record.ts";
import {
	type FileContents,
	OutOfMemory,
	ParquetRewriter,
} from "../compaction/rewriter.ts";
import { RequestFailure } from "../request/errors.ts";
import { type ReleaseRecord, ReleaseStore } from "./release-store.ts";

/** Each manifest reads the records of its dates. */
const maxRecordsOfDate = 1_000;
/** Those that don't fit into a part any more are downloaded again for the next one. */
const downloadsAtOnce = 4;

export interface DateReleaseOptions {
	store: ObjectStore & FileStore;
	scratch: string;
	/** Settles before anything is written. Throws if the source is deleted. */
	idle(): Promise<void>;
	signal: AbortSignal;
	/** Whether objects of this total size can be one part. */
	fits?: typeof fitPart;
}

/** What an Operation releases of one date. */
export interface DateQuestion {
	folder: DateFolder;
	operation: string;
	filter: ReleaseFilter;
	/** Where all cuts of the date have put their events in quarantine, each stream's in order. May grow. */
	objects: Iterable<IndexedObject>;
}

/** An object in quarantine. */
interface ApartObject {
	/** Of one that a compaction wrote. */
	name?: string;
	stream: string;
	/** It has the events of the stream's cuts that begin at `first` to `last`. */
	first: number;
	last: number;
}

interface PartObject {
	object: ApartObject;
	file: string;
	contents: FileContents;
}

/** What a record says about the range that it was made of. */
type Known = Pick<ReleaseRecord, "key" | "stream" | "first" | "last">;

/**
 * Makes events in quarantine rows of their date, with their ids and times. It copies what archive itself wrote, and the
 * filter only compares texts: no stranger's schema and no stranger's file comes into archive.
 *
 * It goes through each stream's objects in parts that fit the memory and the disk. Nothing stays on the disk after a part.
 */
export class DateRelease {
	readonly #options: DateReleaseOptions;
	readonly #question: DateQuestion;
	readonly #releases: ReleaseStore;
	readonly #compactions: CompactionStore;
	/** Those that hold each event once, each stream's in the order of its cuts. */
	#objects: ApartObject[] = [];
	#isCompacted = false;
	/** By stream: the last object there was at the beginning, so that a date that still grows comes to an end. */
	readonly #end = new Map<string, number>();
	/** By stream: the last object that this Operation is done with, now or before. */
	readonly #done = new Map<string, number>();
	/** All records of the date that were read, by number. */
	readonly #known: Known[] = [];
	#events = 0;

	constructor(options: DateReleaseOptions, question: DateQuestion) {
		this.#options = options;
		this.#question = question;
		this.#releases = new ReleaseStore(options.store);
		this.#compactions = new CompactionStore(options.store);
		for (const { stream, first } of question.objects)
			this.#end.set(stream, first);
	}

	/** How many events the Operation has released, now or before. */
	get events(): number {
		return this.#events;
	}

	/**
	 * Releases one part. Returns whether any are left. Throws {@link RequestFailure} ReleasesTooMany or ObjectMissing.
	 */
	async next(): Promise<boolean> {
		await this.#look();
		if (!this.#first()) return false;
		const { scratch, signal } = this.#options;
		const rewriter = await ParquetRewriter.open(scratch, signal);
		try {
			await this.#release(rewriter, await this.#take(rewriter));
		} finally {
			await rewriter.close();
		}
		return this.#first() !== undefined;
	}

	/**
	 * Reads the records since the last look. A compaction may come between two parts: what this Operation has taken of an output's
	 * events is in its records.
	 */
	async #look(): Promise<void> {
		const { folder, objects } = this.#question;
		if (!this.#isCompacted) {
			const apart = { ...folder, quarantined: true } as const;
			const { keys } = this.#options.store;
			const record = await this.#compactions.of(apart);
			this.#isCompacted = record !== undefined;
			if (record || this.#objects.length === 0)
				this.#objects = apartObjects([...objects], apart, keys, record);
		}
		const more = await this.#releases.ofDate(folder, this.#known.length);
		for (const record of more) this.#note(record);
	}

	#note({ operation, key, stream, first, last, rows }: ReleaseRecord): void {
		this.#known.push({ key, stream, first, last });
		if (operation !== this.#question.operation) return;
		this.#events += rows;
		this.#finish(stream, last);
	}

	/** The objects before it gave their rows to earlier records, or had none to give. */
	#finish(stream: string, last: number): void {
		this.#done.set(stream, Math.max(last, this.#done.get(stream) ?? 0));
	}

	*#left(): Generator<ApartObject> {
		for (const object of this.#objects) {
			const { stream, first, last } = object;
			const isDone = last <= (this.#done.get(stream) ?? 0);
			if (!isDone && first <= (this.#end.get(stream) ?? 0)) yield object;
		}
	}

	#first(): ApartObject | undefined {
		for (const object of this.#left()) return object;
		return undefined;
	}

	/** Downloads the next objects of one stream that fit together: at least one, which is bounded by a cut. */
	async #take(rewriter: ParquetRewriter): Promise<PartObject[]> {
		const { fits = fitPart, store } = this.#options;
		const folder = { ...this.#question.folder, quarantined: true } as const;
		const part: PartObject[] = [];
		let size = sizeOf([]);
		for (const batch of batches(this.#left())) {
			if (part[0] && part[0].object.stream !== batch[0]!.stream) break;
			const files = await mapConcurrently(
				batch,
				downloadsAtOnce,
				({ name, stream, first }) => {
					const key = name
						? store.keys.eventsOfDate(folder) + name
						: store.keys.events(folder, stream, first);
					return this.#download(rewriter, key);
				},
			);
			const found = await rewriter.contents(files);
			for (const [index, object] of batch.entries()) {
				const contents = found[index]!;
				const all = sizeOf([size, contents]);
				const together = { ...all, objects: part.length + 1 };
				if (part.length > 0 && !fits(together)) return part;
				size = together;
				part.push({ object, file: files[index]!, contents });
			}
		}
		return part;
	}

	/** Returns when the part, or half of one that needs too much memory, has its record or nothing to give. */
	async #release(
		rewriter: ParquetRewriter,
		whole: PartObject[],
	): Promise<void> {
		const others = new Map<string, string>();
		for (let part = whole; ; ) {
			try {
				if (await this.#try(rewriter, part, others)) return;
			} catch (error) {
				if (!(error instanceof OutOfMemory) || part.length === 1) throw error;
				part = part.slice(0, Math.ceil(part.length / 2));
			}
			await this.#look();
		}
	}

	/**
	 * False if another release came first.
	 * @param others files of what other releases took, by key.
	 */
	async #try(
		rewriter: ParquetRewriter,
		part: readonly PartObject[],
		others: Map<string, string>,
	): Promise<boolean> {
		const { store, idle } = this.#options;
		const { folder, operation, filter } = this.#question;
		const { account, sourceKey, date } = folder;
		const { stream, first } = part[0]!.object;
		const { last } = part.at(-1)!.object;
		if (this.#known.length >= maxRecordsOfDate)
			throw new RequestFailure(
				"ReleasesTooMany",
				`Events of ${date} were released in ${this.#known.length} parts`,
			);
		// An event is in one object of quarantine, so no other record can have a row of this part.
		const overlapping = this.#known
			.filter(
				(known) =>
					known.stream === stream && known.first <= last && known.last >= first,
			)
			.map(({ key }) => key);
		await mapConcurrently(
			overlapping.filter((key) => !others.has(key)),
			downloadsAtOnce,
			async (key) => others.set(key, await this.#download(rewriter, key)),
		);
		const { file, rows } = await rewriter.select(
			part.map((each) => each.file),
			filterSql(filter),
			overlapping.map((key) => others.get(key)!),
			rowGroupSize(sizeOf(part.map(({ contents }) => contents))),
		);
		try {
			if (rows > 0) {
				await idle();
				const number = this.#known.length + 1;
				const attempt = randomBytes(8).toString("hex");
				const key = store.keys.released(folder, number, attempt);
				await store.putNewFile(key, file, "application/vnd.apache.parquet");
				const { size: bytes } = await stat(file);
				const range = { stream, first, last };
				const source = { account, sourceKey, date };
				const what = { operation, ...range, key, rows, bytes };
				const record = { version: 1, ...source, ...what } as const;
				const decided = await this.#releases.decide(number, record);
				if (decided !== key) {
					// Nobody names it. If this fails, it goes with its date.
					await store.remove([key]);
					return false;
				}
				this.#note(record);
			}
			this.#finish(stream, last);
			return true;
		} finally {
			await rm(file, { force: true });
		}
	}

	async #download(rewriter: ParquetRewriter, key: string): Promise<string> {
		const file = rewriter.newFile();
		if ((await this.#options.store.getFile(key, file)) === undefined)
			throw new RequestFailure(
				"ObjectMissing",
				`The object ${objectId(key)} is not in the bucket`,
				{ internals: key },
			);
		return file;
	}
}

/** @param record of their compaction, whose outputs are of one stream each. */
function apartObjects(
	objects: readonly IndexedObject[],
	folder: DateFolder,
	keys: ObjectKeys,
	record: CompactionRecord | undefined,
): ApartObject[] {
	const start = keys.eventsOfDate(folder).length;
	const nameOf = ({ stream, first }: IndexedObject) =>
		keys.events(folder, stream, first).slice(start);
	const visible = record
		? visibleObjects(objects, nameOf, record)
		: { originals: objects, outputs: [] };
	const apart: ApartObject[] = [
		...visible.originals.map(({ stream, first }) => ({
			stream,
			first,
			last: first,
		})),
		...visible.outputs.map(({ name, inputs }) => {
			const { stream, first } = cutOfName(inputs[0]!);
			return { name, stream, first, last: cutOfName(inputs.at(-1)!).first };
		}),
	];
	return apart.sort((a, b) =>
		a.stream === b.stream ? a.first - b.first : a.stream < b.stream ? -1 : 1,
	);
}

/** Each of one stream. */
function* batches(objects: Iterable<ApartObject>) {
	let batch: ApartObject[] = [];
	for (const object of objects) {
		const isFull = batch.length === downloadsAtOnce;
		if (isFull || (batch[0] && batch[0].stream !== object.stream)) {
			yield batch;
			batch = [];
		}
		batch.push(object);
	}
	if (batch.length > 0) yield batch;
}

/** The condition on a row in quarantine; its column `violations` has the plan's ValidationRecord. */
export function filterSql({ types, kinds, eventIDs }: ReleaseFilter): string {
	const list = (texts: string[]) => texts.map(quoteText).join(", ");
	const conditions = [
		types && `json_extract_string(violations, '$.type') IN (${list(types)})`,
		kinds &&
			`list_has_any(json_extract_string(violations, '$.violations[*].kind'), [${list(kinds)}])`,
		eventIDs && `event_id IN (${list(eventIDs)})`,
		`kind <> ${quoteText(erasedKind)}`,
	].filter((condition) => condition !== undefined);
	return conditions.join(" AND ");
}
