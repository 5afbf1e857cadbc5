import { expect, test } from "vitest";
import { DateObjects } from "../../archive/ledger/date-objects.ts";
import type { CompactionRecord } from "../compaction/record.ts";
import { compactionOfShard, expectedBytes, namesInList } from "./shard-list.ts";

const stream = (shard: number) => `tidemill-frames-${shard}-aaaaaaaaaaaaaaaa`;
const nameOf = (object: { stream: string; first: number }) =>
	`${object.stream}-${object.first}.parquet`;
const object = (shard: number, first: number) => ({
	stream: stream(shard),
	first,
	rows: 1,
});
const compacted: CompactionRecord = {
	version: 1,
	account: "shop",
	sourceKey: "aa",
	date: "2026-03-01",
	outputs: [
		{
			name: "compacted-x.parquet",
			rows: 2,
			bytes: 1,
			sha256: "",
			inputs: [nameOf(object(1, 1)), nameOf(object(1, 2))],
		},
	],
};

test.each<[string, CompactionRecord | undefined, number, string[]]>([
	["all, before a compaction", undefined, 1, ["1-1", "1-2", "1-3"]],
	["its outputs, and what came later", compacted, 1, ["compacted-x", "1-3"]],
	[
		"all, of the shard that the source had before or after",
		compacted,
		2,
		["2-1", "2-2", "2-3"],
	],
])("a shard's list has %s", (_, record, shard, expected) => {
	const objects = [1, 2, 3].map((first) => object(shard, first));
	const names = namesInList(shard, objects, nameOf, record);
	expect(
		names.map((name) =>
			name
				.replace("tidemill-frames-", "")
				.replace("-aaaaaaaaaaaaaaaa", "")
				.replace(".parquet", ""),
		),
	).toEqual(expected);
	// Its length is known without the names.
	const bytes = names.reduce((sum, { length }) => sum + length + 1, 0);
	const compaction = compactionOfShard(record, shard);
	expect(
		expectedBytes(
			DateObjects.of(objects),
			nameOf,
			compaction,
			({ length }) => length + 1,
		),
	).toBe(bytes);
});

test("a list of nothing has no length", () => {
	const none = DateObjects.of([]);
	expect(expectedBytes(none, nameOf, undefined, () => 9)).toBe(0);
});
