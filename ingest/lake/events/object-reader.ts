// hyparquet: see object-rows.ts.
import { type FileMetaData, parquetMetadata } from "hyparquet";
import type { ReadStore } from "../../../packages/bucket/object-store.ts";
import { objectId } from "../../../packages/service/log.ts";
import { RequestFailure } from "../request/errors.ts";
import type { RowChoice, StoredRow } from "./row.ts";
import type { RowThread } from "./row-thread.ts";

/** Of a small object, this is all. */
const endBytes = 64 * 1024;
/** More than the footer of any object that archive or its compaction writes. */
const maxFooterBytes = 4 * 1024 ** 2;
/** What one row group may take in memory. A larger one comes of events that are larger than archive accepts. */
const maxGroupBytes = 64 * 1024 ** 2;

/** An object's row groups, in the order of time. */
export interface OpenObject {
	key: string;
	totalBytes: number;
	groups: OpenGroup[];
	metadata: FileMetaData;
	/** The object's last bytes. */
	end: Uint8Array<ArrayBuffer>;
}

export interface OpenGroup {
	index: number;
	fromMs: number;
	toMs: number;
	/** The least and the greatest event ID. */
	ids: { from: string; to: string };
}

/** Reads rows of objects by ranges of their bytes. */
export class ObjectReader {
	readonly #store: Pick<ReadStore, "getPart">;
	readonly #thread: RowThread;

	constructor(store: Pick<ReadStore, "getPart">, thread: RowThread) {
		this.#store = store;
		this.#thread = thread;
	}

	/** Throws {@link RequestFailure} ObjectMissing. */
	async open(key: string): Promise<OpenObject> {
		let part = await this.#part(key, `bytes=-${endBytes}`);
		const footer = footerBytes(part.bytes);
		if (footer > maxFooterBytes)
			throw new Error(`${key}: its footer is too large`);
		if (footer > part.bytes.length)
			part = await this.#part(key, `bytes=-${footer}`);
		const { bytes: end, totalBytes } = part;
		const metadata = parquetMetadata(end.buffer, { geoparquet: false });
		const groups = metadata.row_groups.map((_, index) =>
			openGroup(metadata, index),
		);
		return { key, totalBytes, metadata, groups, end };
	}

	/** The chosen rows of a group, the newest first. */
	async rows(
		object: OpenObject,
		{ index }: OpenGroup,
		choice: RowChoice,
	): Promise<StoredRow[]> {
		const { key, totalBytes, end } = object;
		const group = object.metadata.row_groups[index]!;
		const metadata = {
			...object.metadata,
			num_rows: group.num_rows,
			row_groups: [group],
		};
		const [start, stop] = spanOf(group);
		if (stop - start > maxGroupBytes)
			throw new Error(`${key}: row group ${index} is too large to read`);
		const endStart = totalBytes - end.length;
		const bytes =
			start >= endStart
				? end.slice(start - endStart, stop - endStart)
				: (await this.#part(key, `bytes=${start}-${stop - 1}`)).bytes;
		return this.#thread.rows({
			group: { metadata, totalBytes, start, bytes },
			choice,
		});
	}

	async #part(key: string, range: string) {
		const part = await this.#store.getPart(key, range);
		if (part) return part;
		throw new RequestFailure(
			"ObjectMissing",
			`The object ${objectId(key)} is not in the bucket`,
			{ internals: key },
		);
	}
}

/** The footer with its length and the file's mark behind it (github.com/apache/parquet-format, "File format"). */
function footerBytes(end: Uint8Array): number {
	const { buffer, byteOffset, length } = end;
	return (
		new DataView(buffer, byteOffset, length).getUint32(length - 8, true) + 8
	);
}

function openGroup({ row_groups }: FileMetaData, index: number): OpenGroup {
	const { columns } = row_groups[index]!;
	const boundsOf = (name: string) => {
		const chunk = columns.find(
			({ meta_data }) => meta_data?.path_in_schema[0] === name,
		);
		const { min_value, max_value } = chunk?.meta_data?.statistics ?? {};
		return [min_value, max_value];
	};
	const [from, to] = boundsOf("timestamp");
	const [least, greatest] = boundsOf("event_id");
	return {
		index,
		fromMs: from instanceof Date ? from.getTime() : 0,
		toMs: to instanceof Date ? to.getTime() : Infinity,
		ids: { from: String(least ?? ""), to: String(greatest ?? "~") },
	};
}

/** Where a group's columns begin and end in the object. */
function spanOf({
	columns,
}: FileMetaData["row_groups"][number]): [start: number, stop: number] {
	let [start, stop] = [Infinity, 0];
	for (const { meta_data } of columns) {
		const { dictionary_page_offset, data_page_offset, total_compressed_size } =
			meta_data!;
		const first = Number(dictionary_page_offset || data_page_offset);
		start = Math.min(start, first);
		stop = Math.max(stop, first + Number(total_compressed_size));
	}
	return [start, stop];
}
