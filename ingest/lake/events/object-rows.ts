import { zstdDecompressSync } from "node:zlib";
// hyparquet: reads Parquet by byte ranges, without a file or a database. It has no dependencies.
import { type FileMetaData, parquetRead } from "hyparquet";
import { erasedKind } from "../../../packages/contracts/manifest.ts";
import {
	hasType,
	isChosen,
	type RowChoice,
	type RowPlace,
	type StoredRow,
	validationOf,
} from "./row.ts";

/** A row group of an object: its bytes, and the footer's words about it alone. */
export interface RowGroup {
	metadata: FileMetaData;
	/** Of the object. */
	totalBytes: number;
	/** Where `bytes` begin in the object. */
	start: number;
	bytes: Uint8Array<ArrayBuffer>;
}

/** The chosen rows of a row group, the newest first. Its rows are in the order of time and ID. */
export async function rowsOfGroup(
	group: RowGroup,
	choice: RowChoice,
): Promise<StoredRow[]> {
	const column = columnsOf(group);
	const [ids, times, kinds] = await Promise.all([
		column<Uint8Array>("event_id"),
		column<number>("timestamp"),
		column<Uint8Array>("kind"),
	]);
	const places: (RowPlace & { row: number })[] = [];
	for (let row = ids.length - 1; row >= 0; row--) {
		const place = { eventID: text(ids[row]!), timeMs: times[row]!, row };
		if (text(kinds[row]) === erasedKind) continue;
		if (isChosen(choice, place)) places.push(place);
		// Without a type, nothing else keeps a row out.
		if (!choice.types && places.length === choice.limit) break;
	}
	if (places.length === 0) return [];
	const validations = await column<Uint8Array | null>("violations");
	const chosen = places
		.map((place) => ({
			...place,
			validation: validationOf(text(validations[place.row])),
		}))
		.filter(({ validation }) => hasType(choice, validation))
		.slice(0, choice.limit);
	if (chosen.length === 0) return [];
	const [bodies, headers] = await Promise.all([
		column<Uint8Array>("body"),
		choice.whole ? column<Uint8Array | null>("headers") : [],
	]);
	return chosen.map(({ row, eventID, timeMs, validation }) => ({
		eventID,
		timeMs,
		kind: text(kinds[row]) as StoredRow["kind"],
		bytes: bodies[row]!.length,
		...(validation && { validation }),
		...(choice.whole && {
			headers: text(headers[row]),
			body: Uint8Array.from(bodies[row]!),
		}),
	}));
}

function columnsOf({ metadata, totalBytes, start, bytes }: RowGroup) {
	const { buffer, byteOffset } = bytes;
	const file = {
		byteLength: totalBytes,
		slice: (from: number, to = totalBytes) =>
			buffer.slice(byteOffset + from - start, byteOffset + to - start),
	};
	const [group] = metadata.row_groups;
	const names = new Set(
		group!.columns.map(({ meta_data }) => meta_data?.path_in_schema[0]),
	);
	const rows = Number(group!.num_rows);
	return async <Value>(name: string): Promise<ArrayLike<Value>> => {
		// An earlier version of archive wrote fewer columns.
		if (!names.has(name)) return Array<Value>(rows).fill(null as Value);
		const values: Value[] = [];
		await parquetRead({
			file,
			metadata,
			columns: [name],
			compressors: {
				ZSTD: (input, maxOutputLength) =>
					zstdDecompressSync(input, { maxOutputLength }),
			},
			parsers: {
				// Most texts aren't looked at.
				stringFromBytes: (value: Uint8Array | undefined) => value,
				timestampFromMicroseconds: (micros: bigint) => Number(micros / 1000n),
			},
			onChunk: ({ columnData }) => {
				for (const value of columnData as ArrayLike<Value> & Iterable<Value>)
					values.push(value);
			},
		});
		return values;
	};
}

function text(bytes: Uint8Array | null | undefined): string {
	return bytes
		? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()
		: "";
}
