import { isUtf8 } from "node:buffer";
import type { SourceName } from "../../../packages/bucket/object-keys.ts";
import { receivedState } from "../../../packages/contracts/stored-event.ts";
import type { ImportRequest } from "../../../packages/contracts/transfer.ts";
import { type UtcDate, utcDate } from "../../../packages/contracts/utc-date.ts";
import { eventFile } from "../../archive/write/parquet/event-file.ts";
import { decodeFrame } from "../../wire/frame.ts";
import type { FrameEvent } from "../../wire/frame-event.ts";
import { areHeaders } from "../../wire/imported-headers.ts";
import type { AddedDates } from "../addition/addition-turns.ts";
import {
	AdditionWriter,
	type AdditionWriterOptions,
	parquetType,
} from "../addition/addition-writer.ts";
import { RequestFailure } from "../request/errors.ts";

/** A date takes some requests, and a part may have as many as are kept: too many to do at once what others wait for. */
const datesAtOnce = 10;

export interface SourceImportOptions extends AdditionWriterOptions {
	/** The dates whose events are kept. */
	kept: { from: UtcDate; to: UtcDate };
}

/**
 * Makes the events of an Import rows of their dates, one addition for each part and date: a part that has its record is
 * done.
 */
export class SourceImport {
	readonly #options: SourceImportOptions;
	readonly #request: ImportRequest;
	/** Keys of the objects that the Job has looked for the same events in. */
	readonly #seen: ReadonlySet<string>;
	readonly #writers = new Map<UtcDate, AdditionWriter>();
	/** The last date that was added, by part. */
	readonly #through = new Map<number, UtcDate>();

	/** @param seen keys of the objects that the Operation's manifest names. */
	constructor(
		options: SourceImportOptions,
		request: ImportRequest,
		seen: ReadonlySet<string>,
	) {
		this.#options = options;
		this.#seen = seen;
		this.#request = request;
	}

	/** What the Operation has added to the dates of the parts, now or before. */
	get dates(): AddedDates {
		const { operation } = this.#request;
		return [...this.#writers]
			.map(([date, writer]) => ({ date, events: writer.eventsOf(operation) }))
			.sort((a, b) => (a.date < b.date ? -1 : 1));
	}

	/**
	 * Adds some dates of a part. Returns whether any are left. Throws {@link RequestFailure} ImportInvalid, ImportOutdated,
	 * ObjectMissing or ReleasesTooMany.
	 */
	async add(part: number): Promise<boolean> {
		const { store, kept } = this.#options;
		const key = store.keys.importPart(
			this.#request,
			this.#request.operation,
			part,
		);
		const found = await store.getPart(key, "bytes=0-");
		if (!found)
			throw new RequestFailure(
				"ObjectMissing",
				`Part ${part} is not in the bucket`,
				{ internals: key },
			);
		const dates = eventsOfPart(found.bytes, this.#request, kept);
		const through = this.#through.get(part) ?? "";
		const left = [...dates.keys()].filter((date) => date > through).sort();
		for (const date of left.slice(0, datesAtOnce)) {
			await this.#addTo(date, part, dates.get(date)!);
			this.#through.set(part, date);
		}
		return left.length > datesAtOnce;
	}

	async #addTo(
		date: UtcDate,
		part: number,
		events: FrameEvent[],
	): Promise<void> {
		const { store } = this.#options;
		const { operation, account, sourceKey } = this.#request;
		const folder = { account, sourceKey, date };
		const writer =
			this.#writers.get(date) ?? new AdditionWriter(this.#options, folder);
		this.#writers.set(date, writer);
		const range = { stream: streamOf(operation), first: part, last: part };
		let body: Uint8Array | undefined;
		await writer.add({ operation, ...range, imported: true }, async () => {
			const isDone = writer.records.some(
				({ stream, first }) => stream === range.stream && first === part,
			);
			if (isDone) return undefined;
			// Its events may be the same, and a table has each once.
			const other = writer.records.find(
				(record) =>
					record.imported &&
					record.operation !== operation &&
					!this.#seen.has(record.key),
			);
			if (other)
				throw new RequestFailure(
					"ImportOutdated",
					`Another Import has added events to ${date} since this one began`,
				);
			body ??= await eventFile(events);
			const made = body;
			const put = (key: string) => store.putNew(key, made, parquetType);
			return { rows: events.length, bytes: made.length, put };
		});
	}
}

/** No stream of NATS has this name. */
function streamOf(operation: string): string {
	return `import-${operation}`;
}

/**
 * The events of a part, by date. A Job in the account's namespace made it, so it may be anything. Throws
 * {@link RequestFailure} ImportInvalid, unless each event could be one of the source that was received on a date that is kept.
 */
export function eventsOfPart(
	bytes: Uint8Array,
	{ account, sourceKey }: SourceName,
	kept: { from: UtcDate; to: UtcDate },
): Map<UtcDate, FrameEvent[]> {
	const byDate = new Map<UtcDate, FrameEvent[]>();
	for (const event of frameOf(bytes).events) {
		const date = utcDate(event.receivedAtMs);
		const isRight =
			event.account === account &&
			event.sourceKey === sourceKey &&
			receivedState(event) === "accepted" &&
			event.key === undefined &&
			event.violations === "" &&
			date >= kept.from &&
			date <= kept.to &&
			hasTime(event) &&
			isUtf8(event.body) &&
			(event.headers === "" || areHeaders(event.headers));
		if (!isRight) throw invalid("an event that is none of the source");
		const events = byDate.get(date) ?? [];
		byDate.set(date, events);
		events.push(event);
	}
	return byDate;
}

function frameOf(bytes: Uint8Array) {
	const { buffer, byteOffset, byteLength } = bytes;
	const length =
		byteLength < 4 ? 0 : new DataView(buffer, byteOffset).getUint32(0);
	try {
		return decodeFrame(bytes.subarray(4, 4 + length));
	} catch (error) {
		throw invalid((error as Error).message, error);
	}
}

/** UUIDv7 with the same clock reading (RFC 9562 §5.7): lookups by ID go by it. */
function hasTime({ id, receivedAtMs }: FrameEvent): boolean {
	const view = Buffer.from(id.buffer, id.byteOffset, id.byteLength);
	return (
		view.readUIntBE(0, 6) === receivedAtMs &&
		id[6]! >> 4 === 7 &&
		id[8]! >> 6 === 2
	);
}

function invalid(what: string, cause?: unknown): RequestFailure {
	return new RequestFailure(
		"ImportInvalid",
		`The Job left a part that archive can't take: ${what}`,
		{ cause },
	);
}
