import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ReadStore } from "../../../packages/bucket/object-store.ts";
import { eventFile } from "../../archive/write/parquet/event-file.ts";
import { type FrameEvent, newEventId } from "../../wire/frame-event.ts";
import { ParquetRewriter } from "../objects/parquet-rewriter.ts";
import { ObjectReader } from "./object-reader.ts";
import { rowsOfGroup } from "./object-rows.ts";
import type { RowChoice, StoredRow } from "./row.ts";
import type { RowThread } from "./row-thread.ts";

const noonMs = Date.parse("2026-03-01T12:00:00.000Z");
const events = Array.from({ length: 20_000 }, (_, index) => eventOf(index));
const validation = (type: string) => ({ plan: "orders", version: "1", type });

/** The same rows as archive writes them, and as a compaction does. */
const objects = new Map<string, Uint8Array<ArrayBuffer>>();
let directory: string;

beforeAll(async () => {
	directory = await mkdtemp(join(tmpdir(), "object-reader-"));
	const original = Uint8Array.from(await eventFile(events));
	const file = join(directory, "original.parquet");
	await writeFile(file, original);
	const rewriter = await ParquetRewriter.open(
		directory,
		new AbortController().signal,
	);
	const merged = await rewriter.merge([file], 8_192);
	objects.set("original", original);
	objects.set("compacted", Uint8Array.from(await readFile(merged)));
	await rewriter.close();
});
afterAll(() => rm(directory, { recursive: true }));

test.each(["original", "compacted"])(
	"an %s object's groups say which times and ids they have",
	async (key) => {
		const { groups } = await reader().open(key);
		expect(groups.length).toBeGreaterThan(2);
		expect(groups[0]).toMatchObject({
			fromMs: noonMs,
			ids: { from: idOf(events[0]!) },
		});
		expect(groups.at(-1)).toMatchObject({
			toMs: noonMs + 19_999,
			ids: { to: idOf(events.at(-1)!) },
		});
	},
);

test.each(["original", "compacted"])(
	"the newest rows of an %s object come first, and the next ones after them",
	async (key) => {
		const first = await rowsOf(key, { limit: 3 });
		expect(first.map(({ eventID }) => eventID)).toEqual(
			[19_999, 19_998, 19_997].map((index) => idOf(events[index]!)),
		);
		expect(first[0]).toMatchObject({
			timeMs: noonMs + 19_999,
			kind: "form",
			bytes: 12,
			validation: validation("even.or.odd 1"),
		});
		expect(first[0]).not.toHaveProperty("body");
		const next = await rowsOf(key, { limit: 1, before: first.at(-1)! });
		expect(next[0]!.eventID).toBe(idOf(events[19_996]!));
	},
);

test.each(["original", "compacted"])(
	"a row of an %s object is found by its id, time or type",
	async (key) => {
		const eventID = idOf(events[9_000]!);
		const [one, ...others] = await rowsOf(key, {
			limit: 2,
			eventID,
			whole: true,
		});
		expect(others).toEqual([]);
		expect(Buffer.from(one!.body!).toString()).toBe('{"n":009000}');
		expect(one!.headers).toBe('{"x-n":"9000"}');
		const within = await rowsOf(key, {
			limit: 100,
			fromMs: noonMs + 50,
			toMs: noonMs + 60,
			types: ["even.or.odd 0"],
		});
		expect(within.map(({ timeMs }) => timeMs - noonMs)).toEqual([
			60, 58, 56, 54, 52, 50,
		]);
	},
);

test("an object that is gone is reported without its key, which is for the log", async () => {
	const key = "prefix/events/account=shop/gone";
	await expect(reader().open(key)).rejects.toMatchObject({
		message: expect.stringMatching(
			/^The object ([0-9a-f]{8}) is not in the bucket \(error \1 /,
		),
		internals: key,
	});
});

function eventOf(index: number): FrameEvent {
	return {
		id: newEventId(noonMs + index),
		receivedAtMs: noonMs + index,
		sourceKey: "0".repeat(32),
		account: "shop",
		kind: index === 19_999 ? "form" : "json",
		headers: index % 3 === 0 ? `{"x-n":"${index}"}` : "",
		violations: JSON.stringify({
			plan: "orders",
			version: "1",
			type: `even.or.odd ${index % 2}`,
		}),
		body: Buffer.from(`{"n":${String(index).padStart(6, "0")}}`),
	};
}

function idOf({ id }: FrameEvent): string {
	return Buffer.from(id)
		.toString("hex")
		.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

function reader(): ObjectReader {
	const store: Pick<ReadStore, "getPart"> = {
		async getPart(key, range) {
			const bytes = objects.get(key);
			if (!bytes) return undefined;
			const [, from, to] = /^bytes=(\d*)-(\d+)$/.exec(range)!;
			const start = from === "" ? bytes.length - Number(to) : Number(from);
			const stop = from === "" ? bytes.length : Number(to) + 1;
			const part = bytes.slice(Math.max(0, start), stop);
			return { bytes: part, totalBytes: bytes.length };
		},
	};
	// What the thread does, without one.
	const thread = {
		rows: (question: { group: never; choice: RowChoice }) =>
			rowsOfGroup(question.group, question.choice),
	} as unknown as RowThread;
	return new ObjectReader(store, thread);
}

/** Of all groups, the newest first. */
async function rowsOf(key: string, choice: RowChoice): Promise<StoredRow[]> {
	const objects = reader();
	const object = await objects.open(key);
	const rows: StoredRow[] = [];
	for (const group of object.groups.toReversed())
		rows.push(...(await objects.rows(object, group, choice)));
	return rows.slice(0, choice.limit);
}
