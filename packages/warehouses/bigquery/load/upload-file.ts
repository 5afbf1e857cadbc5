import { setTimeout as delay } from "node:timers/promises";
import type { LoadInput } from "../../../contracts/job.ts";
import { passingParquet, widePassingParquet } from "../../../duckdb/memory.ts";
import { quoteName, quoteText } from "../../../duckdb/quoting.ts";
import type { Session } from "../../../duckdb/session.ts";
import { isKept } from "../../../json/json-reader.ts";
import {
	type JsonLimits,
	jsonFits,
	mayBeDeeper,
} from "../../load/body-value.ts";
import { defineBodyValues } from "../../load/body-values.ts";
import {
	areWide,
	columnSql,
	eventRows,
	limitWriters,
	type SizedFile,
} from "../../load/columns.ts";
import {
	JobFailure,
	type Patience,
	pauseAfter,
	retryBackoff,
} from "../../load/failure.ts";
import type { LoadDay } from "../../load/load-day.ts";
import type { UnheldValues } from "../../load/value-counts.ts";
import { type BigQueryJob, GoogleRefusal } from "./rest/google-refusal.ts";
import { fieldsOf, isJson } from "./schema.ts";

/**
 * Writes the file that BigQuery loads, of rows in JSON if a column is and of Parquet otherwise, from days' objects on disk and with only the table's columns.
 * Throws {@link JobFailure} ObjectMismatch if it has other rows than planned.
 */
export async function writeUpload(
	days: LoadDay[],
	rows: number,
	table: LoadInput["table"],
	file: string,
	session: Session,
): Promise<void> {
	const files = days.flatMap(({ objects }) => objects);
	await limitWriters(session, files, table.columns);
	const written = await (isOfJson(table, days)
		? writeJsonRows(files, table, file, session)
		: writeParquet(files, table, file, session));
	if (written !== rows)
		throw new JobFailure(
			"ObjectMismatch",
			`The objects of ${days.map(({ date }) => date).join(", ")} gave ${written} rows, but the manifest says ${rows}`,
		);
}

/** Whether the rows are uploaded as JSON. No rows are none of JSON, either. */
export function isOfJson(table: LoadInput["table"], days: readonly LoadDay[]) {
	return days.length > 0 && fieldsOf(table).some(({ type }) => type === "JSON");
}

function writeParquet(
	files: readonly SizedFile[],
	{ columns, options }: LoadInput["table"],
	file: string,
	session: Session,
): Promise<number> {
	const isEmpty = files.length === 0;
	// A column of JSON is here only if there are no rows.
	const stored = columns.filter((column) => !isJson(column, options));
	const selected = stored.map((column) => {
		const { name, type, expression } = columnSql(column, columns);
		// A file would say that the text is JSON, and BigQuery loads no JSON from Parquet.
		const storedType = type === "JSON" ? "VARCHAR" : type;
		const value = isEmpty ? "NULL" : `(${expression})`;
		return `${value}::${storedType} AS ${quoteName(name)}`;
	});
	defineBodyValues(session);
	return session.run(
		`COPY (SELECT ${selected.join(", ")} ${isEmpty ? "WHERE false" : `FROM ${eventRows(files, columns)}`})` +
			` TO ${quoteText(file)} (${areWide(columns) ? widePassingParquet : passingParquet})`,
	);
}

/*
 * A load job fills a column of the type JSON from newline-delimited JSON, CSV or Avro, and not from Parquet
 * (cloud.google.com/bigquery/docs/json-data#limitations).
 */

/**
 * What BigQuery's JSON is known to hold: 500 levels (the page above), and numbers that it doesn't round: a 64-bit integer, or what a
 * 64-bit floating point number says (cloud.google.com/bigquery/docs/reference/standard-sql/json_functions#parse_json). Whether a load
 * job would round another number or fail, no page says.
 */
const limits: JsonLimits = {
	maxDepth: 500,
	takesNul: true,
	takesNumber(number) {
		if (!/^-?\d+$/.test(number)) return isKept(number, Number(number));
		const whole = BigInt(number);
		return whole >= -(2n ** 63n) && whole < 2n ** 64n;
	},
};

const fitsFunction = "tidemill_bigquery_json_fits_1";

/** Only these can make a JSON text unfit, beside many levels: half of a surrogate pair, a long number or one with an exponent. */
const suspicious = String.raw`'(?i)\\ud[89a-f]|[0-9.]e[+-]?[0-9]|[0-9.]{16}'`;

/** Whether a body isn't one that {@link limits} has, by SQL over the rows of {@link eventRows}. */
const isUnfit =
	`(regexp_matches(body, ${suspicious}) OR ${mayBeDeeper("body", limits)})` +
	` AND ${fitsFunction}(body, '') <> '='`;

function define(session: Session): void {
	defineBodyValues(session);
	session.define(fitsFunction, (json) => (jsonFits(json, limits) ? "=" : "!"));
}

export function unheldBodies(
	{ columns, options }: LoadInput["table"],
	session: Session,
): UnheldValues[] {
	define(session);
	return columns
		.filter((column) => isJson(column, options))
		.map((column) => ({
			column,
			condition: () => isUnfit,
			reason:
				"BigQuery's JSON can't hold it, or not without rounding a number.",
		}));
}

/** Writes a row of JSON for each event. Returns how many there are. */
function writeJsonRows(
	files: readonly SizedFile[],
	{ columns, options }: LoadInput["table"],
	to: string,
	session: Session,
): Promise<number> {
	define(session);
	const members = columns.map((column) => {
		const { name, type, expression } = columnSql(column, columns);
		const value = isJson(column, options)
			? // A JSON text has line ends between its parts alone (RFC 8259 §7).
				`CASE WHEN NOT (${isUnfit}) THEN translate(body, chr(10) || chr(13), '  ') END`
			: jsonOf(type, `(${expression})`);
		return `${quoteText(`${JSON.stringify(name)}:`)}, coalesce(${value}, 'null')`;
	});
	const row = `concat('{', ${members.join(", ',', ")}, '}')`;
	// No JSON text has these characters, so that nothing is quoted.
	const form = `FORMAT csv, HEADER false, DELIMITER '\x01', QUOTE '\x02', ESCAPE '\x02'`;
	return session.run(
		`COPY (SELECT ${row} FROM ${eventRows(files, columns)}) TO ${quoteText(to)} (${form})`,
	);
}

/**
 * As load jobs read it: 64-bit integers and decimals as strings, so that none is rounded
 * (cloud.google.com/bigquery/docs/loading-data-cloud-storage-json#details_of_loading_json_data).
 */
function jsonOf(type: string, value: string): string {
	if (type === "BOOLEAN" || type === "DOUBLE") return `${value}::VARCHAR`;
	if (type === "TIMESTAMP WITH TIME ZONE")
		return `'"' || (${value} AT TIME ZONE 'UTC')::VARCHAR || ' UTC"'`;
	return `to_json(${value}::VARCHAR)::VARCHAR`;
}

/** Finds and starts one BigQuery job by its id. */
interface JobAccess {
	/** Undefined when there is no such job. */
	find(jobId: string): Promise<BigQueryJob | undefined>;
	/** Throws {@link GoogleRefusal} of reason `duplicate` when the job exists. */
	start(jobId: string): Promise<BigQueryJob>;
}

/** What to do next about one attempt. */
type NextJobStep = "Start" | "Wait" | "Done" | "NextAttempt";

/**
 * The attempt's number rises only after its job failed, or wrote to a table that has since been deleted. So two processes
 * that do the same work, at once or one after the other, share one job.
 * @param job what BigQuery knows of the attempt's job.
 * @param tableCreatedMs creation time of the table that the job writes to.
 */
export function nextStepFor(
	job: BigQueryJob | undefined,
	tableCreatedMs: number,
): NextJobStep {
	if (!job) return "Start";
	if (job.status?.state !== "DONE") return "Wait";
	if (job.status.errorResult) return "NextAttempt";
	const createdMs = Number(job.statistics?.creationTime ?? Infinity);
	return createdMs < tableCreatedMs ? "NextAttempt" : "Done";
}

/** Jobs that one process starts for the same data before it gives up: BigQuery allows 1,500 load jobs per table and day. */
const usualPatience: Patience = { attempts: 3, backoff: retryBackoff };

/**
 * Completes a job, whichever process started it: waits for a running job, accepts one that succeeded, and starts another
 * after one that failed. Throws the {@link GoogleRefusal} of the last job that this process started.
 */
export async function completeJob(
	jobs: JobAccess,
	idOf: (attempt: number) => string,
	tableCreatedMs: number,
	signal: AbortSignal,
): Promise<BigQueryJob> {
	let started = 0;
	for (let attempt = 1; ; attempt++) {
		const jobId = idOf(attempt);
		let job = await jobs.find(jobId);
		let isOurs = false;
		if (nextStepFor(job, tableCreatedMs) === "Start") {
			({ job, isOurs } = await startOrFind(jobs, jobId));
			if (isOurs) started++;
		}
		job =
			nextStepFor(job, tableCreatedMs) === "Wait"
				? await untilEnded(() => jobs.find(jobId), signal)
				: job;
		if (job && nextStepFor(job, tableCreatedMs) === "Done") return job;
		if (!isOurs) continue;
		const refusal = new GoogleRefusal(0, job?.status?.errorResult ?? {}).with(
			`BigQuery tells more of its job ${jobId}.`,
		);
		const patience = refusal.patience(usualPatience);
		if (!refusal.isTransient || started >= patience.attempts) throw refusal;
		await pauseAfter(patience, started, signal);
	}
}

async function startOrFind(
	jobs: JobAccess,
	jobId: string,
): Promise<{ job: BigQueryJob; isOurs: boolean }> {
	try {
		return { job: await jobs.start(jobId), isOurs: true };
	} catch (error) {
		const isDuplicate =
			error instanceof GoogleRefusal && error.reason === "duplicate";
		const job = isDuplicate ? await jobs.find(jobId) : undefined;
		if (!job) throw error;
		return { job, isOurs: false };
	}
}

/** The job once it has ended; undefined when there is none. */
export async function untilEnded(
	find: () => Promise<BigQueryJob | undefined>,
	signal: AbortSignal,
): Promise<BigQueryJob | undefined> {
	for (let waitMs = 100; ; waitMs = Math.min(waitMs * 1.5, 5_000)) {
		const job = await find();
		if (!job || job.status?.state === "DONE") return job;
		await delay(waitMs, undefined, { signal });
	}
}
