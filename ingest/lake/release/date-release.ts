import { stat } from "node:fs/promises";
import {
	cutOfName,
	type DateFolder,
} from "../../../packages/bucket/object-keys.ts";
import type { QuarantineFilter } from "../../../packages/contracts/archive.ts";
import { countedRows } from "../../../packages/contracts/manifest.ts";
import { quoteText } from "../../../packages/duckdb/quoting.ts";
import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import { objectId } from "../../../packages/service/log.ts";
import type { IndexedObject } from "../../archive/ledger/date-objects.ts";
import {
	AdditionWriter,
	type AdditionWriterOptions,
	type NewAddition,
	parquetType,
} from "../addition/addition-writer.ts";
import { AcceptedLosses } from "../missing/accepted-losses.ts";
import {
	eventRows,
	type FileContents,
	OutOfMemory,
	ParquetRewriter,
} from "../objects/parquet-rewriter.ts";
import { fitPart, rowGroupSize, sizeOf } from "../objects/parquet-size.ts";
import { type Replacements, visibleObjects } from "../objects/replacements.ts";
import { RequestFailure } from "../request/errors.ts";

/** Those that don't fit into a part any more are downloaded again for the next one. */
const downloadsAtOnce = 4;

export interface DateReleaseOptions extends AdditionWriterOptions {
	replaced: Pick<Replacements, "of">;
	scratch: string;
	signal: AbortSignal;
	/** Whether objects of this total size can be one part. */
	fits?: typeof fitPart;
}

/** What an Operation releases of one date. */
export interface DateQuestion {
	folder: DateFolder;
	operation: string;
	filter: QuarantineFilter;
	/** Where all cuts of the date have put their events in quarantine, each stream's in order. May grow. */
	objects: Iterable<IndexedObject>;
}

/** An object in quarantine. It has the events of the stream's cuts that begin at `first` to `last`. */
interface ApartObject {
	key: string;
	stream: string;
	first: number;
	last: number;
}

interface PartObject extends ApartObject {
	file: string;
	contents: FileContents;
}

/**
 * Makes events in quarantine rows of their date, with their ids and times. It copies what archive itself wrote, and the
 * filter only compares texts: no stranger's schema and no stranger's file comes into archive.
 *
 * It goes through each stream's objects in parts that fit the memory and the disk. Nothing stays on the disk after a part.
 */
export class DateRelease {
	readonly #options: DateReleaseOptions;
	readonly #question: DateQuestion;
	readonly #writer: AdditionWriter;
	/** By stream: the last object there was at the beginning, so that a date that still grows comes to an end. */
	readonly #end = new Map<string, number>();
	/** By stream: the last object that this Operation is done with, now or before. */
	readonly #done = new Map<string, number>();

	constructor(options: DateReleaseOptions, question: DateQuestion) {
		this.#options = options;
		this.#question = question;
		this.#writer = new AdditionWriter(options, question.folder);
		for (const { stream, first } of question.objects)
			this.#end.set(stream, first);
	}

	/** How many events the Operation has released, now or before. */
	get events(): number {
		return this.#writer.eventsOf(this.#question.operation);
	}

	/**
	 * Releases one part. Returns whether any are left. Throws {@link RequestFailure} ReleasesTooMany or ObjectMissing.
	 */
	async next(): Promise<boolean> {
		// Other archives may have worked on the same Operation since.
		await this.#writer.look();
		for (const { operation, stream, last } of this.#writer.records)
			if (operation === this.#question.operation) this.#finish(stream, last);
		const left = await this.#left();
		if (left.length === 0) return false;
		const { scratch, signal } = this.#options;
		const rewriter = await ParquetRewriter.open(scratch, signal);
		try {
			const part = await this.#take(rewriter, left);
			return (await this.#release(rewriter, part)) < left.length;
		} finally {
			await rewriter.close();
		}
	}

	/** The objects before it gave their rows to earlier records, or had none to give. */
	#finish(stream: string, last: number): void {
		this.#done.set(stream, Math.max(last, this.#done.get(stream) ?? 0));
	}

	/** Those that hold each event once, each stream's in the order of its cuts. Meanwhile some may have been replaced. */
	async #left(): Promise<ApartObject[]> {
		const { store, replaced } = this.#options;
		const { folder, objects } = this.#question;
		const apart = { ...folder, quarantined: true } as const;
		const prefix = store.keys.eventsOfDate(apart);
		const keyOf = ({ stream, first }: IndexedObject) =>
			store.keys.events(apart, stream, first);
		const { originals, outputs } = visibleObjects(
			[...objects],
			(object) => keyOf(object).slice(prefix.length),
			await replaced.of(apart),
		);
		const all = [
			...originals.map((object) => ({
				...object,
				key: keyOf(object),
				last: object.first,
			})),
			// Of one stream each.
			...outputs.map(({ name, inputs }) => ({
				key: prefix + name,
				...cutOfName(inputs[0]!),
				last: cutOfName(inputs.at(-1)!).first,
			})),
		];
		const keys = new Set(
			await new AcceptedLosses(store).without(
				folder,
				prefix,
				all.map(({ key }) => key),
			),
		);
		return all
			.filter(({ stream, first, last, key }) => {
				const isDone = last <= (this.#done.get(stream) ?? 0);
				const isAsked = first <= (this.#end.get(stream) ?? 0);
				return !isDone && isAsked && keys.has(key);
			})
			.sort((a, b) =>
				a.stream === b.stream
					? a.first - b.first
					: a.stream < b.stream
						? -1
						: 1,
			);
	}

	/** Downloads the next objects of one stream that fit together: at least one, which is bounded by a cut. */
	async #take(
		rewriter: ParquetRewriter,
		all: readonly ApartObject[],
	): Promise<PartObject[]> {
		const { fits = fitPart } = this.#options;
		const left = all.filter(({ stream }) => stream === all[0]!.stream);
		const part: PartObject[] = [];
		let size = sizeOf([]);
		for (let at = 0; at < left.length; at += downloadsAtOnce) {
			const batch = left.slice(at, at + downloadsAtOnce);
			const files = await this.#download(rewriter, batch);
			const found = await rewriter.contents(files);
			for (const [index, object] of batch.entries()) {
				const contents = found[index]!;
				const all = sizeOf([size, contents]);
				const together = { ...all, objects: part.length + 1 };
				if (part.length > 0 && !fits(together)) return part;
				size = together;
				part.push({ ...object, file: files[index]!, contents });
			}
		}
		return part;
	}

	/** Adds the part, or half of one that needs too much memory. Returns how many objects it has taken. */
	async #release(
		rewriter: ParquetRewriter,
		part: readonly PartObject[],
	): Promise<number> {
		const { operation } = this.#question;
		const [{ stream, first }, { last }] = [part[0]!, part.at(-1)!];
		try {
			await this.#writer.add({ operation, stream, first, last }, () =>
				this.#select(rewriter, part),
			);
		} catch (error) {
			if (!(error instanceof OutOfMemory) || part.length === 1) throw error;
			const half = part.slice(0, Math.ceil(part.length / 2));
			return this.#release(rewriter, half);
		}
		this.#finish(stream, last);
		return part.length;
	}

	/** The chosen rows that are in no record yet. */
	async #select(
		rewriter: ParquetRewriter,
		part: readonly PartObject[],
	): Promise<NewAddition | undefined> {
		const [{ stream, first }, { last }] = [part[0]!, part.at(-1)!];
		// An event is in one object of quarantine, so no other record can have a row of this part.
		const overlapping = this.#writer.records.filter(
			(known) =>
				known.stream === stream && known.first <= last && known.last >= first,
		);
		const others = await this.#download(rewriter, overlapping);
		const { file, rows } = await rewriter.write(
			`FROM ${eventRows(part.map((each) => each.file))} WHERE ${filterSql(this.#question.filter)}` +
				(others.length > 0
					? ` AND event_id NOT IN (SELECT event_id FROM ${eventRows(others)})`
					: "") +
				" ORDER BY timestamp, event_id",
			rowGroupSize(sizeOf(part.map(({ contents }) => contents))),
		);
		await rewriter.remove(others);
		const { size: bytes } = await stat(file);
		const put = async (key: string) => {
			await this.#options.store.putNewFile(key, file, parquetType);
			await rewriter.remove([file]);
		};
		if (rows > 0) return { rows, bytes, put };
		await rewriter.remove([file]);
		return undefined;
	}

	#download(
		rewriter: ParquetRewriter,
		objects: readonly { key: string }[],
	): Promise<string[]> {
		return mapConcurrently(objects, downloadsAtOnce, async ({ key }) => {
			const file = rewriter.newFile();
			if ((await this.#options.store.getFile(key, file)) !== undefined)
				return file;
			throw new RequestFailure(
				"ObjectMissing",
				`The object ${objectId(key)} is not in the bucket`,
				{ internals: key },
			);
		});
	}
}

/** The condition on a row in quarantine; its column `violations` has the plan's ValidationRecord. */
export function filterSql({
	types,
	kinds,
	eventIDs,
}: QuarantineFilter): string {
	const list = (texts: string[]) => texts.map(quoteText).join(", ");
	const conditions = [
		types && `json_extract_string(violations, '$.type') IN (${list(types)})`,
		kinds &&
			`list_has_any(json_extract_string(violations, '$.violations[*].kind'), [${list(kinds)}])`,
		eventIDs && `event_id IN (${list(eventIDs)})`,
		countedRows,
	].filter((condition) => condition !== undefined);
	return conditions.join(" AND ");
}
