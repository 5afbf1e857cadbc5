import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { checkedManifest, parseManifest } from "./manifest.ts";

const object = (rows: number, more = {}) => ({
	...{ key: "events/1.parquet", url: "https://s3.example/1?secret" },
	...{ rows, bytes: 100 * rows, ...more },
});
const day = (more = {}) => ({
	...{ date: "2026-03-01", rows: 3, objects: [object(1), object(2)] },
	...more,
});
const manifest = {
	version: 1,
	run: "uid",
	snapshotTime: "2026-03-02T10:00:00.000Z",
	closedThrough: "2026-03-01",
	asked: { extent: "Rest", start: "2026-03-01" },
	dates: [day(), day({ date: "2026-03-02", rows: 0, objects: [] })],
};
const manifestWith = (more: object) => JSON.stringify({ ...manifest, ...more });
const withDays = (...dates: unknown[]) => manifestWith({ dates });

async function read(text: string) {
	const chunks = Readable.from([Buffer.from(text)]);
	return checkedManifest(await parseManifest(chunks), "uid");
}

test("a consistent manifest of this Run is accepted", async () => {
	expect(await read(JSON.stringify(manifest))).toEqual(manifest);
});

test.each([
	["<html>", "not JSON"],
	[JSON.stringify({ ...manifest, version: 2 }), "version 2"],
	[JSON.stringify({ ...manifest, run: "other" }), "Run uid other, not to uid"],
	[
		withDays(day({ rows: 4 })),
		"The objects of 2026-03-01 hold 3 rows, but the ledger says 4",
	],
	[manifestWith({ snapshotTime: "now" }), "snapshotTime is now"],
	[manifestWith({ closedThrough: "x" }), "closedThrough is x"],
	[manifestWith({ asked: undefined }), "asked.extent is missing"],
	[manifestWith({ asked: { extent: "All" } }), "asked.extent is All"],
	[manifestWith({ asked: { extent: "Rest" } }), "asked.start is missing"],
	[withDays(null), "dates[0].date is missing, but must be YYYY-MM-DD"],
	[withDays(day({ date: "../../x" })), "dates[0].date is ../../x"],
	[withDays(day(), day()), "dates[1].date is 2026-03-01"],
	[withDays(day({ objects: undefined })), "dates[0].objects is missing"],
	[withDays(day({ objects: [null] })), "dates[0].objects[0].key is missing"],
	[
		withDays(day({ objects: [object(3, { url: "file:///x" })] })),
		"dates[0].objects[0].url is no link",
	],
	[
		withDays(day({ objects: [object(3, { rows: "3" })] })),
		"dates[0].objects[0].rows is 3, but must be a whole number",
	],
	[
		withDays(day({ objects: [object(3, { bytes: -1 })] })),
		"dates[0].objects[0].bytes is -1",
	],
])("a manifest is refused: %#", async (text, words) => {
	await expect(read(text)).rejects.toThrow(words);
});
