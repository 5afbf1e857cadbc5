// In make test: ingest/lake/manifest/imports.test.ts
import { createHash, randomUUID } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeNdjson } from "../../cli/events/ndjson.ts";
import { performOperation } from "../../ingest/operation/operation.ts";
import { newEventId } from "../../ingest/wire/frame-event.ts";
import type { TableColumn } from "../../packages/contracts/job.ts";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import type {
	ImportResult,
	ImportWork,
} from "../../packages/contracts/operation.ts";
import type {
	EventsAnswer,
	StoredEvent,
} from "../../packages/contracts/stored-event.ts";
import { addDays, dayMs, utcDate } from "../../packages/contracts/utc-date.ts";
import { output } from "../../packages/warehouses/duckdb/load/sql-output.ts";
import { withDuckDB } from "../support/duckdb.ts";
import {
	ArchiveFixture,
	newEvent,
} from "../support/fixtures/data-plane/archive-fixture.ts";
import { loadFixture } from "../support/fixtures/data-plane/load-fixture.ts";
import { bodiesIn } from "../support/fixtures/data-plane/manifest-bodies.ts";
import {
	type Servers,
	startServers,
} from "../support/servers/archive-servers.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";

/* Files become events: links, the Job, and archive, as operator calls them one after the other. */

let servers: Servers;
let scratch: string;
beforeAll(async () => {
	servers = await startServers();
	scratch = await temporaryDirectory("import");
});
afterAll(async () => {
	await servers?.stop();
	await rm(scratch, { recursive: true, force: true });
});

const today = utcDate(Date.now());
const [before, yesterday] = [addDays(today, -3), addDays(today, -1)];

interface ImportFile {
	name: string;
	content: string | Buffer;
}

async function uploaded(archive: ArchiveFixture, files: ImportFile[]) {
	const named = files.map(({ name, content }) => ({
		name,
		sha256: createHash("sha256").update(content).digest("hex"),
		bytes: Buffer.byteLength(content),
	}));
	const asked = named.map(({ sha256, bytes }) => ({ sha256, bytes }));
	const answer = await archive.askUploads(asked);
	if (!answer.ok) throw new Error(answer.error.message);
	for (const [index, { link }] of answer.files.entries()) {
		if (!link) continue;
		const body = Uint8Array.from(Buffer.from(files[index]!.content));
		const { headers, url } = link;
		const { status } = await fetch(url, { method: "PUT", headers, body });
		expect(status).toBe(200);
	}
	return named.map(({ name, sha256 }) => ({ name, sha256 }));
}

/** Archive's list of what the Job reads. */
async function listed(
	archive: ArchiveFixture,
	operation: string,
	files: ImportWork["files"],
) {
	return archive.ask({
		run: operation,
		account: "shop",
		sourceKey: archive.sourceKey,
		extent: "Chosen",
		start: addDays(today, -30),
		end: today,
		report: true,
		imports: files.map(({ sha256 }) => sha256),
	});
}

/** What the Job leaves. */
async function worked(
	archive: ArchiveFixture,
	operation: string,
	files: ImportWork["files"],
	options: Partial<ImportWork> = {},
): Promise<ImportResult> {
	const answer = await listed(archive, operation, files);
	if (!answer.ok) throw new Error(answer.error.message);
	const work = {
		type: "Import",
		files,
		skipInvalidRows: false,
		keptFrom: addDays(today, -30),
		...options,
	} as const;
	await performOperation(
		{
			version: 1,
			operation: { name: "o", uid: operation, account: "shop", source: "s" },
			work,
			manifestURL: answer.url,
		},
		{
			log: pino({ level: "silent" }),
			signal: new AbortController().signal,
			scratch,
			warehouse: undefined,
			busyWaitMs: 0,
			onResult: () => {},
		},
	);
	const { sourceKey } = archive;
	const left = await archive.askResult({
		run: operation,
		account: "shop",
		sourceKey,
	});
	return JSON.parse((left as { report: string }).report);
}

async function imported(
	archive: ArchiveFixture,
	files: ImportFile[],
	options: Partial<ImportWork> = {},
) {
	const operation = randomUUID();
	const named = await uploaded(archive, files);
	const report = await worked(archive, operation, named, options);
	const { parts } = report;
	const answer = await archive.askImport({ operation, parts });
	return { operation, named, report, answer };
}

async function manifestOf(archive: ArchiveFixture, since?: string) {
	const answer = await archive.ask({
		run: randomUUID(),
		account: "shop",
		sourceKey: archive.sourceKey,
		...(since && {
			extent: "Rest" as const,
			start: today,
			releases: { earliest: addDays(today, -30), since },
		}),
	});
	if (!answer.ok) throw new Error(answer.error.message);
	return (await (await fetch(answer.url)).json()) as Manifest;
}

const bodies = async (manifest: Manifest) => (await bodiesIn(manifest)).sort();
const rowsOf = ({ dates }: Manifest) =>
	dates.filter(({ rows }) => rows > 0).map(({ date, rows }) => [date, rows]);

const lines = [
	`{"received_at":"${before}T10:00:00Z","body":{"n": 1.0}}`,
	`{"time":"${yesterday}T10:00:00Z","body":12345678901234567890}`,
	`{"timestamp":"${yesterday}T11:00:00Z","body":{"n":3}}`,
].join("\n");
const file = { name: "other.ndjson", content: lines };
const asEvents = { rows: "Events" } as const;

test("files become events of their dates, as they stand, and the next Run loads those dates again", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { sourceKey } = archive;
	await archive.start();
	await archive.publish([newEvent('"own"', { sourceKey })]);
	// Twenty minutes for clocks that differ.
	const since = new Date(Date.now() - 1000).toISOString();
	const { report, answer } = await imported(archive, [file], asEvents);
	expect(report).toMatchObject({ events: 3, duplicates: 0, parts: 1 });
	expect(answer).toEqual({
		ok: true,
		dates: [
			{ date: before, events: 1 },
			{ date: yesterday, events: 2 },
		],
	});
	const all = await manifestOf(archive);
	expect(await bodies(all)).toEqual([
		'"own"',
		"12345678901234567890",
		'{"n": 1.0}',
		'{"n":3}',
	]);
	expect(all.firstEventDate).toBe(before);
	expect(rowsOf(await manifestOf(archive, since))).toEqual(rowsOf(all));
	const events: StoredEvent[] = [];
	let cursor: string | undefined;
	// A page that takes long ends with what it has.
	do {
		const asked = { state: "imported", ...(cursor && { cursor }) } as const;
		const page: EventsAnswer = await archive.askEvents(asked);
		const found = page as { events: StoredEvent[]; cursor?: string };
		events.push(...found.events);
		cursor = found.cursor;
	} while (cursor !== undefined);
	expect(events.map(({ time }) => time)).toEqual([
		`${yesterday}T11:00:00.000Z`,
		`${yesterday}T10:00:00.000Z`,
		`${before}T10:00:00.000Z`,
	]);
	for (const { eventID } of events)
		expect(await archive.askEvent(eventID)).toMatchObject({
			event: { eventID, state: "imported", stage: "Bucket" },
		});
});

test("a Source that keeps its events longer takes those of another tool from before it was there", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archive.start();
	const { sourceKey } = archive;
	await archive.publish([newEvent('"own"', { sourceKey })]);
	const [long, longer] = [addDays(today, -200), addDays(today, -401)];
	const content = `{"time":"${long}T00:00:00Z"}`;
	const files = [{ name: "a.ndjson", content }];
	await expect(imported(archive, files)).rejects.toMatchObject({
		code: "RowsInvalid",
	});
	expect(await archive.askRetention(400)).toMatchObject({
		retention: { from: addDays(today, -400) },
	});
	const keptFrom = addDays(today, -400);
	await imported(archive, files, { keptFrom });
	expect(rowsOf(await manifestOf(archive))).toEqual([
		[long, 1],
		[today, 1],
	]);
	// Whatever the Job says.
	const early = `{"time":"${longer}T12:00:00Z"}`;
	const tooOld = [{ name: "b.ndjson", content: early }];
	const work = { keptFrom: addDays(today, -500) };
	expect((await imported(archive, tooOld, work)).answer).toMatchObject({
		ok: false,
		error: { code: "ImportInvalid" },
	});
});

test("a second import of the same file adds nothing, and a repeated one says what it added", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archive.start();
	const { operation, report } = await imported(archive, [file], asEvents);
	const again = await imported(archive, [file], asEvents);
	expect(again.report).toMatchObject({ events: 0, duplicates: 3, parts: 0 });
	expect(
		await archive.askImport({ operation, parts: report.parts }),
	).toMatchObject({ dates: [{ events: 1 }, { events: 2 }] });
	expect(rowsOf(await manifestOf(archive))).toEqual([
		[before, 1],
		[yesterday, 2],
	]);
});

test("of two imports of a file at once only one adds it", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archive.start();
	const named = await uploaded(archive, [file]);
	const [one, other] = [randomUUID(), randomUUID()];
	const { parts } = await worked(archive, one, named, asEvents);
	expect((await worked(archive, other, named, asEvents)).parts).toBe(parts);
	const answers = await Promise.all(
		[one, other].map((operation) => archive.askImport({ operation, parts })),
	);
	expect(answers.filter(({ ok }) => ok)).toHaveLength(1);
	expect(answers.find(({ ok }) => !ok)).toMatchObject({
		error: { code: "ImportOutdated" },
	});
	expect(rowsOf(await manifestOf(archive))).toEqual([
		[before, 1],
		[yesterday, 2],
	]);
});

test("an import that read its parts before an erasure adds nothing after it", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archive.start();
	const { store, keys, sourceKey } = archive;
	const named = await uploaded(archive, [file]);
	const operation = randomUUID();
	expect((await worked(archive, operation, named, asEvents)).parts).toBe(1);
	const part = keys.importPart({ account: "shop", sourceKey }, operation, 1);
	const { bytes } = (await store.getPart(part, "bytes=0-"))!;
	const erased = await archive.askErasure(randomUUID(), {
		eventIDs: [randomUUID()],
		mode: "RemoveRow",
	});
	expect(erased).toMatchObject({ ok: true, places: { ImportParts: 1 } });
	await store.putNew(part, bytes, "application/octet-stream");
	expect(await archive.askImport({ operation, parts: 1 })).toMatchObject({
		error: { code: "ManifestOutdated" },
	});
	expect(rowsOf(await manifestOf(archive))).toEqual([]);
});

test.each(["parquet", "json", "text"] as const)(
	"what was exported with bodies as %s adds nothing to its source, and is the same in another one",
	async (format) => {
		const archive = await ArchiveFixture.open(servers);
		const { sourceKey } = archive;
		const first = await archive.start();
		const of = { sourceKey, headers: '{"x-a":"b"}' };
		const [now, then] = [Date.now(), Date.now() - 2 * dayMs];
		const sent = '{"order": 1,\r\n\t"text": "{}"}';
		const own = newEvent(sent, {
			...of,
			id: newEventId(now),
			receivedAtMs: now,
		});
		const old = newEvent("[2]", {
			...of,
			id: newEventId(then),
			receivedAtMs: then,
		});
		await archive.publish([own, old]);
		const files: ImportFile[] = [];
		for (const { url } of (await manifestOf(archive)).dates.flatMap(
			(day) => day.objects,
		)) {
			const path = join(scratch, randomUUID());
			const content = await (await fetch(url)).arrayBuffer();
			await writeFile(path, new Uint8Array(content));
			const isParquet = format === "parquet";
			if (!isParquet) await writeNdjson(path, `${path}.ndjson`, format);
			const made = await readFile(isParquet ? path : `${path}.ndjson`);
			const name = `${files.length}.${isParquet ? "parquet" : "ndjson"}`;
			files.push({ name, content: made });
		}
		const again = await imported(archive, files);
		expect(again.report).toMatchObject({ events: 0, duplicates: 2 });
		// Any archive gives links, and this one has another folder.
		await first.stop();
		const other = await ArchiveFixture.open(servers);
		await other.start();
		expect((await imported(other, files)).report).toMatchObject({
			events: 2,
			duplicates: 0,
		});
		const there = await manifestOf(other);
		// Bytes for bytes, but for the line breaks of a body that is a value in its line.
		expect(await bodies(there)).toEqual([
			"[2]",
			format === "json" ? sent.replace("\r\n", " ") : sent,
		]);
		// Its rows are read by the same reader as any other: those that are there are known by their ids.
		expect((await imported(other, files)).report).toMatchObject({ events: 0 });
	},
);

test("a file with a row that is no event adds nothing, unless such rows are skipped", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archive.start();
	const content = `${lines}\n{"body":1}\nnothing`;
	const files = [{ name: "bad.jsonl", content }];
	await expect(imported(archive, files, asEvents)).rejects.toMatchObject({
		code: "RowsInvalid",
		message: expect.stringMatching(
			/bad\.jsonl, row 4: .*no time.* and 1 more rows/,
		),
	});
	expect(rowsOf(await manifestOf(archive))).toEqual([]);
	const { report } = await imported(archive, files, {
		...asEvents,
		skipInvalidRows: true,
	});
	expect(report).toMatchObject({
		events: 3,
		invalidRows: 2,
		invalid: [
			{ file: "bad.jsonl", row: 4 },
			{ file: "bad.jsonl", row: 5, message: "the line is not JSON" },
		],
	});
});

test.each([
	[
		"has other members beside a body",
		{ name: "it's old.ndjson", content: '{"id":7,"body":"hello"}' },
		/it's old\.ndjson, row 1: it has body beside id, .*tidemill events import s 'it'\\''s old\.ndjson' --rows events .*tidemill events import s .* --rows bodies/,
	],
	[
		"has JSON as a text",
		{ name: "a.ndjson", content: String.raw`{"body":"{\"n\":1}"}` },
		/a\.ndjson, row 1: .*tidemill events import s a\.ndjson --body text .*tidemill events import s a\.ndjson --body json/,
	],
])(
	"a file that %s isn't imported until people say what it is, and they read both commands",
	async (_, file, message) => {
		const archive = await ArchiveFixture.open(servers);
		await archive.start();
		const others = { ...file, content: `${lines}\n${file.content}` };
		for (const options of [{}, { skipInvalidRows: true }])
			await expect(
				imported(archive, [options.skipInvalidRows ? others : file], {
					date: yesterday,
					...options,
				}),
			).rejects.toMatchObject({
				code: "RowsInvalid",
				message: expect.stringMatching(
					options.skipInvalidRows ? /--rows events/ : message,
				),
			});
		const options = { date: yesterday, rows: "Bodies" } as const;
		const { report } = await imported(archive, [file], options);
		expect(report).toMatchObject({ events: 1, otherTimes: 0 });
		expect(await bodies(await manifestOf(archive))).toEqual([file.content]);
	},
);

test("rows whose time is a number get the import's date, and the report counts them", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archive.start();
	const content = `{"timestamp":1772323200}\n{"time":"${before}T00:00:00Z"}`;
	const files = [{ name: "a.ndjson", content }];
	await expect(imported(archive, files)).rejects.toMatchObject({
		message: expect.stringContaining(
			"timestamp is 1772323200, and a time must",
		),
	});
	const { report } = await imported(archive, files, { date: yesterday });
	expect(report).toMatchObject({ events: 2, otherTimes: 1 });
	expect(rowsOf(await manifestOf(archive))).toEqual([
		[before, 1],
		[yesterday, 1],
	]);
});

test("rows of `tidemill sql --format json` become the events that they were, and what doesn't fit is counted", async () => {
	const sent = ['{"n": 1.0,\n "s": "a"}', '{"n":"x"}', "null"];
	const columns: TableColumn[] = [
		{ name: "event_id", from: "EventID" },
		{ name: "timestamp", from: "Timestamp" },
		{ name: "n", from: { bodyPointer: "/n", type: "Integer" } },
		{ name: "body", from: "Body" },
		{ name: "date", from: "Date" },
	];
	const input = { table: { name: "orders", columns, description: "" } };
	// An event's ID has its time.
	const nowMs = Date.now();
	const events = async (archive: ArchiveFixture, content?: string) => {
		const running = await archive.start();
		if (content === undefined)
			await archive.publish(
				sent.map((body) =>
					newEvent(body, {
						sourceKey: archive.sourceKey,
						id: newEventId(nowMs),
						receivedAtMs: nowMs,
					}),
				),
			);
		else
			await imported(archive, [{ name: "rows.ndjson", content }], {
				body: "Text",
			});
		const { load, rows, file } = await loadFixture();
		const { result } = await load(await manifestOf(archive), { input });
		expect(result).toMatchObject({
			rows: 3,
			unfitValues: [{ column: "n", rows: 1 }],
		});
		const printed = await withDuckDB(async (duckdb) => {
			await duckdb.run(`ATTACH '${file}' AS w (READ_ONLY)`);
			const all = await duckdb.stream(
				"SELECT * FROM w.orders ORDER BY n, body",
			);
			const lines = await Array.fromAsync(output(all, "json"));
			await duckdb.run("DETACH w");
			return lines.join("");
		});
		expect((await rows("select body from orders")).flat().sort()).toEqual(
			[...sent].sort(),
		);
		await running.stop();
		return printed;
	};
	const printed = await events(await ArchiveFixture.open(servers));
	const again = await events(await ArchiveFixture.open(servers), printed);
	expect(again).toBe(printed);
});

test("a file that is not what it says is refused, and one that was not uploaded is named", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archive.start();
	const content = "no parquet";
	await expect(
		imported(archive, [{ name: "a.parquet", content }]),
	).rejects.toMatchObject({ code: "UploadInvalid" });
	const sha256 = "0".repeat(64);
	expect(
		await listed(archive, randomUUID(), [{ name: "b.ndjson", sha256 }]),
	).toMatchObject({
		ok: false,
		error: { code: "UploadMissing", message: expect.stringContaining(sha256) },
	});
});

test("a link takes only the content of its digest", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archive.start();
	const sha256 = createHash("sha256").update("right").digest("hex");
	const asked = [{ sha256, bytes: 5 }];
	const answer = await archive.askUploads(asked);
	const { url, headers } = (answer.ok && answer.files[0]?.link) || {};
	const put = async (body: string) =>
		(await fetch(url!, { method: "PUT", headers: headers!, body })).status;
	expect(await put("wrong")).toBe(400);
	expect(await archive.askUploads(asked)).toMatchObject({
		files: [{ link: {} }],
	});
	expect(await put("right")).toBe(200);
});

test("nobody uploads more than an account may have, and another account's file is none of this one's", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archive.start();
	const sizes = Array.from({ length: 11 }, (_, index) => ({
		sha256: String(index).padStart(64, "0"),
		bytes: 1024 ** 3,
	}));
	expect(await archive.askUploads(sizes)).toMatchObject({
		ok: false,
		error: { code: "UploadsTooLarge" },
	});
	const digest = createHash("sha256").update(lines).digest("hex");
	const key = archive.keys.upload("other", digest);
	await archive.store.putNew(key, lines, "application/x-ndjson");
	expect(
		await listed(archive, randomUUID(), [{ name: "a.ndjson", sha256: digest }]),
	).toMatchObject({ error: { code: "UploadMissing" } });
});

test("the deletion of a source takes what its imports left along", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archive.start();
	const { operation, report } = await imported(archive, [file], asEvents);
	await archive.askDeletion();
	const { parts } = report;
	const left: string[] = [];
	for (const prefix of [archive.keys.allImports(), archive.keys.allAdded()])
		for await (const { key } of archive.store.list(prefix)) left.push(key);
	expect(left).toEqual([]);
	expect(await archive.askImport({ operation, parts })).toMatchObject({
		ok: false,
	});
});
