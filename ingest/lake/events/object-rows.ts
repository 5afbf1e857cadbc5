import { zstdDecompressSync } from "node:zlib";
// hyparquet: reads Parquet by byte ranges, without a file or a database. It has no dependencies.
import { type FileMetaData, parquetReadObjects } from "hyparquet";
import { isCounted } from "../../../packages/contracts/manifest.ts";
import { hasContent } from "./content-match.ts";
import {
	glimpseOf,
	hasType,
	isChosen,
	type RowChoice,
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

/** The texts as bytes, since most of them aren't looked at. */
interface GroupRow {
	event_id: Uint8Array;
	timestamp: number;
	kind: Uint8Array;
	body: Uint8Array;
	headers?: Uint8Array | null;
	violations?: Uint8Array | null;
}

/** The chosen rows of a row group, the newest first. Its rows are in the order of time and ID. */
export async function rowsOfGroup(
	group: RowGroup,
	choice: RowChoice,
): Promise<StoredRow[]> {
	const { types, match, whole } = choice;
	// What has the value shows only in the contents.
	const limit = match ? Infinity : choice.limit;
	const places = await rowsOf(group, [
		...(["event_id", "timestamp", "kind"] as const),
		...(types ? (["violations"] as const) : []),
	]);
	const chosen: number[] = [];
	for (let row = places.length - 1; row >= 0 && chosen.length < limit; row--) {
		const { event_id, timestamp, kind, violations } = places[row]!;
		const place = { eventID: text(event_id), timeMs: timestamp };
		if (!isCounted(text(kind)) || !isChosen(choice, place)) continue;
		if (hasType(choice, validationOf(text(violations)))) chosen.push(row);
	}
	const [to, from] = [chosen[0], chosen.at(-1)];
	if (from === undefined || to === undefined) return [];
	const contents = await rowsOf(
		group,
		[
			"body",
			"violations",
			...(whole || match?.field ? (["headers"] as const) : []),
		],
		{ rowStart: from, rowEnd: to + 1 },
	);
	const found = match
		? chosen
				.filter((row) => {
					const { body, headers } = contents[row - from]!;
					return hasContent(match, body, text(headers));
				})
				.slice(0, choice.limit)
		: chosen;
	return found.map((row) => {
		const { event_id, timestamp, kind } = places[row]!;
		const { body, headers, violations } = contents[row - from]!;
		const validation = validationOf(text(violations));
		return {
			eventID: text(event_id),
			timeMs: timestamp,
			kind: text(kind) as StoredRow["kind"],
			bytes: body.length,
			...(validation && { validation }),
			...(whole && { headers: text(headers), body: Uint8Array.from(body) }),
			...(choice.glimpse && { glimpse: glimpseOf(body) }),
		};
	});
}

/** These columns of a row group, of all rows or a range of them. */
async function rowsOf<Column extends keyof GroupRow>(
	{ metadata, totalBytes, start, bytes }: RowGroup,
	columns: Column[],
	range: { rowStart?: number; rowEnd?: number } = {},
): Promise<Pick<GroupRow, Column>[]> {
	const { buffer, byteOffset } = bytes;
	const rows = await parquetReadObjects({
		...range,
		file: {
			byteLength: totalBytes,
			slice: (from, to = totalBytes) =>
				buffer.slice(byteOffset + from - start, byteOffset + to - start),
		},
		metadata,
		columns,
		compressors: {
			ZSTD: (input, maxOutputLength) =>
				zstdDecompressSync(input, { maxOutputLength }),
		},
		parsers: {
			stringFromBytes: (value: Uint8Array | undefined) => value,
			timestampFromMicroseconds: (micros: bigint) => Number(micros / 1000n),
		},
	});
	return rows as Pick<GroupRow, Column>[];
}

function text(bytes: Uint8Array | null | undefined): string {
	return bytes
		? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()
		: "";
}
