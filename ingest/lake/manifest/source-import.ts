import { isUtf8 } from "node:buffer";
import { randomBytes } from "node:crypto";
import type { ImportRequest } from "../../../packages/contracts/transfer.ts";
import { type UtcDate, utcDate } from "../../../packages/contracts/utc-date.ts";
import type { SourceName } from "../../archive/s3/object-keys.ts";
import type { ObjectStore, PartStore } from "../../archive/s3/object-store.ts";
import { eventFile } from "../../archive/write/parquet/event-file.ts";
import { decodeFrame } from "../../wire/frame.ts";
import type { FrameEvent } from "../../wire/frame-event.ts";
import { areHeaders } from "../../wire/imported-headers.ts";
import { type ReleaseRecord, ReleaseStore } from "../release/release-store.ts";
import { RequestFailure } from "../request/errors.ts";

/** Each manifest reads the records of its dates. */
const maxRecordsOfDate = 1_000;
/** A date takes some requests, and a part may have as many as are kept: too many to do at once what others wait for. */
const datesAtOnce = 10;

export interface SourceImportOptions {
	store: ObjectStore & PartStore;
	/** Settles before anything is written. Throws if the source is deleted. */
	idle(): Promise<void>;
	/** The dates whose events are kept. */
	kept: { from: UtcDate; to: UtcDate };
}

/**
 * Makes the events of an Import rows of their dates, by the same records as a release: one for each part and date. A number
 * has one record, and a part that has one is done, so each event becomes a row once, whatever crashes.
 */
export class SourceImport {
	readonly #options: SourceImportOptions;
	readonly #request: ImportRequest;
	readonly #releases: ReleaseStore;
	/** Keys of the objects that the Job has looked for the same events in. */
	readonly #seen: ReadonlySet<string>;
	/** All records that were read, by date and number. */
	readonly #known = new Map<UtcDate, ReleaseRecord[]>();
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
		this.#releases = new ReleaseStore(options.store);
	}

	/** What the Operation has added to the dates of the parts, now or before. */
	get dates(): { date: UtcDate; events: number }[] {
		return [...this.#known]
			.map(([date, records]) => ({
				date,
				events: records
					.filter(({ operation }) => operation === this.#request.operation)
					.reduce((sum, { rows }) => sum + rows, 0),
			}))
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
		const { store, idle } = this.#options;
		const { operation, account, sourceKey } = this.#request;
		const folder = { account, sourceKey, date };
		const range = { stream: streamOf(operation), first: part, last: part };
		let body: Uint8Array | undefined;
		for (;;) {
			const known = await this.#look(folder);
			const isDone = known.some(
				({ stream, first }) => stream === range.stream && first === part,
			);
			if (isDone) return;
			// Its events may be the same, and a table has each once.
			const other = known.find(
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
			if (known.length >= maxRecordsOfDate)
				throw new RequestFailure(
					"ReleasesTooMany",
					`Events were added to ${date} in ${known.length} parts`,
				);
			body ??= await eventFile(events);
			const number = known.length + 1;
			const attempt = randomBytes(8).toString("hex");
			const key = store.keys.released(folder, number, attempt);
			await idle();
			await store.putNew(key, body, "application/vnd.apache.parquet");
			const size = { rows: events.length, bytes: body.length };
			const decided = await this.#releases.decide(number, {
				version: 1,
				...folder,
				operation,
				...range,
				key,
				...size,
				imported: true,
			});
			// Nobody names it. If this fails, it goes with its date.
			if (decided !== key) await store.remove([key]);
		}
	}

	/** Reads the records since the last look. */
	async #look(folder: Parameters<ReleaseStore["ofDate"]>[0]) {
		const known = this.#known.get(folder.date) ?? [];
		this.#known.set(folder.date, known);
		known.push(...(await this.#releases.ofDate(folder, known.length)));
		return known;
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
			!event.quarantined &&
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
