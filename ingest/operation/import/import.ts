import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Manifest } from "../../../packages/contracts/manifest.ts";
import {
	type ImportResult,
	type ImportWork,
	type InvalidRow,
	maxListedRows,
} from "../../../packages/contracts/operation.ts";
import {
	importPartBytes,
	maxImportEvents,
	maxImportParts,
} from "../../../packages/contracts/transfer.ts";
import { boundedMemory } from "../../../packages/duckdb/memory.ts";
import { parquetRows } from "../../../packages/duckdb/quoting.ts";
import { Session } from "../../../packages/duckdb/session.ts";
import { shellWord } from "../../../packages/escapes/shell.ts";
import { JobFailure } from "../../../packages/warehouses/load/failure.ts";
import { downloadObjects } from "../../job/download.ts";
import { LinkReader } from "../../job/link-reader.ts";
import { storePart } from "../../job/manifest.ts";
import type { JobContext } from "../../job/process.ts";
import { planDays } from "../../load/load-days.ts";
import { eventOfRow } from "./event-of-row.ts";
import { ndjsonRows } from "./ndjson-rows.ts";
import { readParquetRows } from "./parquet-rows.ts";
import { PartWriter } from "./part-writer.ts";
import type { FormatChoice } from "./row.ts";
import { EventSpool } from "./spool.ts";

/** Else they don't fit into the parts. The disk holds no more. */
const maxBytes = maxImportParts * importPartBytes;

/**
 * Files → rows → events by date → without those that are stored → parts for archive. Another attempt leaves the same parts.
 * Throws {@link JobFailure}.
 */
export async function importFiles(
	work: ImportWork,
	manifest: Manifest,
	scratch: string,
	context: JobContext,
	source: string,
): Promise<ImportResult> {
	const links = manifest.imports;
	if (!links)
		throw new JobFailure("ManifestInvalid", "The manifest has no files");
	const directory = join(scratch, "events");
	await mkdir(directory);
	const spool = new EventSpool(directory, manifest);
	const memory = boundedMemory(directory);
	const session = await Session.inMemory(memory, context.signal);
	try {
		const read = await readFiles(work, links.files, scratch, {
			spool,
			session,
			context,
			source,
		});
		if (read.invalidRows > 0 && !work.skipInvalidRows)
			throw new JobFailure("RowsInvalid", rowsText(read));
		const stored = await storedAmong(
			spool,
			manifest,
			directory,
			session,
			context,
		);
		const parts = new PartWriter(links.parts.length, (part, bytes) =>
			storePart(links.parts[part]!, bytes, context),
		);
		for (const date of spool.dates) {
			for await (const { id, bytes } of spool.of(date))
				if (!stored.has(id)) await parts.add(bytes);
			context.log.info({ date, events: parts.events }, "leaving events");
			context.signal.throwIfAborted();
		}
		await parts.end();
		return {
			...read,
			events: parts.events,
			duplicates: read.duplicates + stored.size,
			parts: parts.count,
		};
	} finally {
		session.close();
	}
}

type Read = Omit<ImportResult, "events" | "parts">;

async function readFiles(
	{ files, keptFrom, ...form }: ImportWork,
	links: (Manifest["imports"] & object)["files"],
	scratch: string,
	deps: {
		spool: EventSpool;
		session: Session;
		context: JobContext;
		source: string;
	},
): Promise<Read> {
	const { spool, session, context, source } = deps;
	const { log, signal } = context;
	const reader = new LinkReader(log, signal);
	const invalid: InvalidRow[] = [];
	let [duplicates, invalidRows, otherTimes] = [0, 0, 0];
	const nowMs = Date.now();
	for (const { name, sha256 } of files) {
		const link = links.find((each) => each.sha256 === sha256);
		if (!link)
			throw new JobFailure("ManifestInvalid", `The manifest has no ${name}`);
		const path = join(scratch, "upload");
		const what = { name, url: link.url } as const;
		await reader.download(
			{ ...what, unavailable: "ObjectUnavailable" },
			path,
			link.bytes,
		);
		if ((await digestOf(path)) !== sha256)
			throw new JobFailure(
				"UploadInvalid",
				`The file ${name} has another SHA-256 than ${sha256}`,
			);
		const rows = name.endsWith(".parquet")
			? readParquetRows(session, { path, name }, form)
			: ndjsonRows(path, form);
		const digest = Buffer.from(sha256, "hex");
		const rules = { digest, date: form.date, keptFrom, nowMs };
		for await (const row of rows) {
			signal.throwIfAborted();
			if (row.undecided) {
				const { has, choices } = row.undecided;
				throw new JobFailure(
					"RowsInvalid",
					undecidedText(`${name}, row ${row.row}: it has ${has}`, choices, {
						source,
						name,
					}),
				);
			}
			const event = eventOfRow(row, rules);
			if ("fault" in event) {
				invalidRows++;
				if (invalid.length < maxListedRows)
					invalid.push({ file: name, row: row.row, message: event.fault });
			} else {
				if (row.otherTime !== undefined) otherTimes++;
				if (!(await spool.add(event))) duplicates++;
			}
			if (spool.events > maxImportEvents || spool.bytes > maxBytes)
				throw new JobFailure(
					"ImportTooLarge",
					`The files have more than ${maxImportEvents} events or ${maxBytes} bytes of them`,
				);
		}
		await rm(path, { force: true });
		log.info({ file: name, events: spool.events, invalidRows }, "read a file");
	}
	await spool.flush();
	return { duplicates, invalidRows, invalid, otherTimes };
}

/** The IDs among those of the spool that the source has already. */
async function storedAmong(
	spool: EventSpool,
	manifest: Manifest,
	directory: string,
	session: Session,
	{ log, signal }: JobContext,
): Promise<Set<string>> {
	const dates = new Set(spool.dates);
	const days = planDays(manifest.dates, directory).filter(({ date }) =>
		dates.has(date),
	);
	const stored = new Set<string>();
	await downloadObjects(
		days,
		async ({ date, objects }) => {
			const files = objects.map(({ file }) => file);
			const sql = `SELECT event_id FROM ${parquetRows(files)}`;
			for await (const chunk of session.chunks(sql))
				for (const [id] of chunk.getRows() as [string][])
					if (spool.has(date, id)) stored.add(id);
			for (const file of files) await rm(file, { force: true });
		},
		log,
		signal,
	);
	return stored;
}

async function digestOf(path: string): Promise<string> {
	const hash = createHash("sha256");
	await pipeline(createReadStream(path), hash);
	return hash.digest("hex");
}

function undecidedText(
	what: string,
	choices: readonly FormatChoice[],
	{ source, name }: { source: string; name: string },
): string {
	const file = shellWord(name);
	const commands = choices
		.map(
			([option, meaning]) =>
				`tidemill events import ${source} ${file} ${option} (${meaning})`,
		)
		.join(", or ");
	return `${what}, so say what it is: ${commands}`;
}

function rowsText({ invalidRows, invalid }: Read): string {
	const [first] = invalid;
	const others = invalidRows > 1 ? `, and ${invalidRows - 1} more rows` : "";
	return `${first?.file}, row ${first?.row}: ${first?.message}${others}`;
}
