import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import {
	asyncBufferFromFile,
	type FileMetaData,
	parquetMetadataAsync,
	type RowGroup,
} from "hyparquet";
import {
	columnElement,
	columnTypes,
	fileEnd,
	footerStruct,
	magic,
	rowGroupStruct,
	type ThriftStruct,
} from "../../../parquet/footer.ts";

/*
 * Parquet files as one, whose rows stay compressed: a footer says where each column of each row group is, so it is enough to
 * move these places. Writing the same rows anew takes more CPU time than a server needs to load them.
 * One INSERT an object takes two to three and a half times as long for a day of 1,440 objects.
 */

/** Files whose rows can be in one. */
export interface ParquetUpload {
	files: string[];
	rows: number;
}

/** An event's columns of an object, as archive writes them and DuckDB rewrites them. */
const columns = [
	["event_id", "text"],
	["timestamp", "timestamp"],
	["date", "date"],
	["body", "text"],
] as const;

/**
 * Puts objects into as few uploads as have at most `maxBytes` each, unless one object alone has more. A server holds an upload in memory.
 * @returns undefined if an object has one of an event's columns in another type, so that its rows must be written anew.
 */
export async function parquetUploads(
	objects: readonly { file: string }[],
	maxBytes: number,
): Promise<ParquetUpload[] | undefined> {
	const uploads: ParquetUpload[] = [];
	let bytes = 0;
	for (const { file } of objects) {
		const { metadata, dataBytes } = await footerOf(file);
		const rows = Number(metadata.num_rows);
		if (rows === 0) continue;
		if (!hasEventTypes(metadata)) return undefined;
		if (uploads.length === 0 || bytes + dataBytes > maxBytes) {
			uploads.push({ files: [], rows: 0 });
			bytes = 0;
		}
		const last = uploads.at(-1)!;
		last.files.push(file);
		last.rows += rows;
		bytes += dataBytes;
	}
	return uploads;
}

const readBytes = 1 << 20;

/** The bytes of one Parquet file with the rows of all. */
export function joinedParquet({ files }: ParquetUpload): Readable {
	const bytes = async function* () {
		yield magic;
		let offset = magic.length;
		let rows = 0;
		const rowGroups: ThriftStruct[] = [];
		for (const file of files) {
			const { metadata, dataBytes } = await footerOf(file);
			rows += Number(metadata.num_rows);
			const moved = offset - magic.length;
			for (const group of metadata.row_groups)
				rowGroups.push(
					rowGroupStruct(
						{ ...group, columns: eventColumns(group) },
						columns.map(([name]) => [name]),
						moved,
					),
				);
			const [start, end] = [magic.length, magic.length + dataBytes - 1];
			if (dataBytes > 0)
				yield* createReadStream(file, { start, end, highWaterMark: readBytes });
			offset += dataBytes;
		}
		const elements = columns.map(([name, type]) => columnElement(name, type));
		const children = elements.length;
		yield fileEnd(footerStruct({ children, elements, rows, rowGroups }));
	};
	return Readable.from(bytes(), {
		objectMode: false,
		highWaterMark: readBytes,
	});
}

/** The file's metadata, and how many bytes are before it but for the first four. */
async function footerOf(
	file: string,
): Promise<{ metadata: FileMetaData; dataBytes: number }> {
	const buffer = await asyncBufferFromFile(file);
	const metadata = await parquetMetadataAsync(buffer, {
		initialFetchSize: 64 * 1024,
		geoparquet: false,
	});
	const endBytes = metadata.metadata_length + magic.length + 4;
	const dataBytes = buffer.byteLength - endBytes - magic.length;
	return { metadata, dataBytes };
}

function hasEventTypes({ schema }: FileMetaData): boolean {
	return columns.every(([name, type]) => {
		const { physical, converted } = columnTypes[type];
		const element = schema.find((each) => each.name === name);
		return (
			element?.type === physical &&
			element.converted_type === converted &&
			element.repetition_type === "OPTIONAL"
		);
	});
}

function eventColumns(group: RowGroup): RowGroup["columns"] {
	return columns.map(
		([name]) =>
			group.columns.find(
				({ meta_data }) => meta_data?.path_in_schema[0] === name,
			)!,
	);
}
