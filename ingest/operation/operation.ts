import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import type {
	OperationInput,
	OperationReport,
} from "../../packages/contracts/operation.ts";
import { boundedMemory } from "../../packages/duckdb/memory.ts";
import { Session } from "../../packages/duckdb/session.ts";
import { parseExact } from "../../packages/json/json-reader.ts";
import { trustAuthorities } from "../../packages/service/secret-files.ts";
import { JobFailure } from "../../packages/warehouses/load/failure.ts";
import type { LoadDay } from "../../packages/warehouses/load/load-day.ts";
import { progressOf } from "../../packages/warehouses/load/load-table.ts";
import { checkObjects, downloadObjects } from "../job/download.ts";
import { LinkReader } from "../job/link-reader.ts";
import {
	readManifest,
	storeLog,
	storeReport,
	storeResult,
} from "../job/manifest.ts";
import {
	type JobContext,
	type JobOptions,
	type JobSuccess,
	runJob,
} from "../job/process.ts";
import { planDays } from "../load/load-days.ts";
import { PlanDraft } from "./draft.ts";
import { DryRun } from "./dry-run.ts";
import { importFiles } from "./import/import.ts";
import { datesRead, EventInspection } from "./inspection.ts";
import { type EventRow, storedEvents } from "./stored-events.ts";

const progressMs = 1_000;

/** `tidemill operation --input <file>`: carries out one Operation (packages/contracts/operation.ts says what goes in and out). */
export async function main({ input }: JobOptions): Promise<number> {
	return runJob("operation", input, parseOperationInput, performOperation);
}

/**
 * Carries out one Operation: manifest → objects → checks → events → report. It changes nothing but the report and an Import's parts, so another
 * attempt begins anew. Throws {@link JobFailure}.
 */
export async function performOperation(
	{ operation, work, manifestURL, authorities }: OperationInput,
	context: JobContext,
): Promise<JobSuccess> {
	const { log, signal } = context;
	if (authorities !== undefined) trustAuthorities(authorities);
	const manifest = await readManifest(
		new LinkReader(log, signal),
		{
			name: "the Operation's manifest",
			url: manifestURL,
			unavailable: "ManifestUnavailable",
		},
		operation.uid,
	);
	const { result: link, logs, report: reportLink } = manifest;
	if (link) context.onResult((result) => storeResult(link, result, log));
	if (logs)
		context.onResult((result, text) => storeLog(logs, result, text, log));
	if (!reportLink)
		throw new JobFailure("ManifestInvalid", "The manifest has no report link");
	const directory = await mkdtemp(join(context.scratch, "operation-"));
	try {
		if (work.type === "Import") {
			const result = await importFiles(
				work,
				manifest,
				directory,
				context,
				operation.source,
			);
			const report: OperationReport = { version: 1, type: "Import", ...result };
			await storeReport(reportLink, JSON.stringify(report), context);
			const { events: rows } = result;
			return { version: 1, outcome: "Succeeded", rows, bytes: 0, objects: 0 };
		}
		const reader = readerFor(work, operation.source);
		const inspects = work.type === "Inspect";
		const { read, except } = datesRead(manifest, inspects);
		const days = planDays(read, directory);
		const others = await mkdtemp(join(directory, "except-"));
		const left = planDays(except, others);
		await readEvents({ days, except: left }, directory, reader, context);
		const report = {
			version: 1,
			type: work.type,
			...reader.result,
		} as OperationReport;
		await storeReport(reportLink, JSON.stringify(report), context);
		const objects = days.flatMap((day) => day.objects);
		return {
			version: 1,
			outcome: "Succeeded",
			rows: days.reduce((sum, { rows }) => sum + rows, 0),
			bytes: objects.reduce((sum, { bytes }) => sum + bytes, 0),
			objects: objects.length,
		};
	} finally {
		await rm(directory, { recursive: true, force: true });
	}
}

type ReadingWork = Exclude<OperationInput["work"], { type: "Import" }>;

function readerFor(work: ReadingWork, source: string) {
	switch (work.type) {
		case "DryRun":
			return new DryRun(work.plan);
		case "Draft":
			return new PlanDraft(source, work.eventType);
		case "Inspect":
			return new EventInspection(work);
	}
}

async function readEvents(
	{ days, except }: { days: LoadDay[]; except: LoadDay[] },
	directory: string,
	reader: { take(event: EventRow): void },
	{ log, signal }: JobContext,
): Promise<void> {
	const session = await Session.inMemory(boundedMemory(directory), signal);
	let rowsDone = 0;
	let saidMs = performance.now();
	const say = () => {
		saidMs = performance.now();
		log.info(progressOf(days, rowsDone), "reading events");
	};
	const readDay = async (day: LoadDay) => {
		await checkObjects(day, session);
		const files = day.objects.map(({ file }) => file);
		const others = except.find(({ date }) => date === day.date)?.objects;
		for await (const events of storedEvents(
			session,
			files,
			others?.map(({ file }) => file),
		)) {
			for (const event of events) {
				reader.take(event);
				rowsDone++;
			}
			if (performance.now() - saidMs > progressMs) say();
			// A signal comes in between.
			await yieldToOthers();
			signal.throwIfAborted();
		}
		for (const file of files) await rm(file, { force: true });
	};
	try {
		const check = async (day: LoadDay) => {
			await checkObjects(day, session);
		};
		await downloadObjects(except, check, log, signal);
		await downloadObjects(days, readDay, log, signal);
		say();
	} finally {
		session.close();
	}
}

const types: ReadonlySet<unknown> = new Set<OperationInput["work"]["type"]>([
	"DryRun",
	"Draft",
	"Inspect",
	"Import",
]);

/** Parses a Job's `input.json` as an {@link OperationInput}. Throws {@link JobFailure} InputInvalid. */
export function parseOperationInput(text: string): OperationInput {
	let input: Partial<OperationInput> | null;
	try {
		input = parseExact(text) as Partial<OperationInput> | null;
	} catch {
		throw new JobFailure("InputInvalid", "The Job's input is not JSON");
	}
	if (input?.version !== 1)
		throw new JobFailure(
			"InputInvalid",
			`The Job's input has version ${input?.version}, but this image reads version 1`,
		);
	const { operation, work, manifestURL } = input;
	const invalid = (field: string) =>
		new JobFailure("InputInvalid", `The Job's input has no valid ${field}`);
	if (typeof operation?.uid !== "string") throw invalid("operation.uid");
	if (typeof manifestURL !== "string" || !URL.canParse(manifestURL))
		throw invalid("manifestURL");
	if (!types.has(work?.type))
		throw new JobFailure(
			"InputInvalid",
			`The Job's input names work of type ${(work as { type?: unknown } | undefined)?.type}, but this image knows only ${[...types].join(", ")}`,
		);
	return input as OperationInput;
}
