import { setTimeout as delay } from "node:timers/promises";
import {
	type ErrorRule,
	passing,
	permanent,
} from "../../contracts/error-rule.ts";
import { type JobError, jobExitCode } from "../../contracts/job.ts";
import { DuckDBRefusal } from "../../duckdb/session.ts";
import { type BackoffOptions, backoffMs } from "../../service/pause.ts";

/**
 * The failures of `tidemill load`, `check` and `operation`, whatever the warehouse; each type has others of its own. The code
 * and the message appear in the status of the Run, Destination or Operation.
 */
export const jobErrors = {
	InputInvalid: permanent(
		"Run the same version of the operator and the Job image.",
	),
	ManifestUnavailable: passing(
		"Check that the Job's network can reach the S3 endpoint.",
	),
	// Every attempt of a Run has the same links.
	ManifestExpired: permanent("Start a new Run to get new links."),
	ManifestInvalid: permanent(
		"Start a new Run. If it fails too, check that archive and the Job image have the same version.",
	),
	ObjectUnavailable: passing(
		"Check that the Job's network can reach the S3 endpoint.",
	),
	ObjectMissing: permanent(
		"Start a new Run. If the object is still missing, it was deleted from the bucket: restore it. If it is gone for good, an administrator accepts the loss: see `tidemill ledger verify`.",
	),
	ObjectMismatch: permanent(
		"The table is unchanged. Restore the object in the bucket, then start a new Run.",
	),
	ScratchFull: passing(
		"Raise ephemeral-storage in the Pipeline's spec.runTemplate.resources, or free space on the node.",
		"Raise ephemeral-storage in the Destination's spec.checkTemplate.resources, or free space on the node.",
	),
	TableIncompatible: permanent(
		"Change the Pipeline's spec.table.name, or set spec.table.onIncompatible: Rebuild to replace the table.",
	),
	TableNotOurs: permanent(
		"Set the Pipeline's spec.table.name to another name; or set spec.table.adopt: true to take the table over (if it is true already, a Run has used it up: remove it first); or drop the table and start a Run.",
	),
	ViewNotOurs: permanent(
		"Rename or drop what has the view's name; or remove the Pipeline's spec.table.latestBy. Then start a Run.",
	),
	DayWouldShrink: permanent(
		"Restore the objects in the bucket, then start a new Run. If they are gone for good and these rows may go, too, create a Run with spec.acceptLoss of these dates, which its log lists, and, if the table has a column of dates, with spec.dates of them.",
	),
	// The operator answers with the whole window, so people see this only if the Run's time is over.
	TableIncomplete: permanent(
		"The table is unchanged. Start a new Run with spec.full: true, which loads all days.",
	),
	// The operator answers with tables for them.
	EventTypesFound: permanent("The tables are unchanged. Start a new Run."),
	// The operator answers with columns for them.
	ColumnsFound: permanent("The table is unchanged. Start a new Run."),
	OutOfMemory: permanent(
		"Every day in the table is complete. Set limits.memory in spec.runTemplate.resources of the Pipeline (of an Operation: in spec.jobTemplate.resources) to more than it is, or to 1Gi or more if there is none.",
		"Set limits.memory in the Destination's spec.checkTemplate.resources to more than it is, or to 1Gi or more if there is none.",
	),
	RowsDiffer: permanent(
		"Start a new Run, which replaces the day again. If it keeps failing, report it with the end of the log, which the status has.",
	),
	RowsRefused: permanent(
		"Each day in the table is the old one or the new one. Change what refuses the rows: a constraint, an index, a trigger, a generated column or a column's type. Then start a new Run. The words of the warehouse may quote events, so only its own log has them.",
	),
	PlanInvalid: permanent("Correct the plan, then create another Operation."),
	EventTypeUnknown: permanent(
		"Add the header to the Source's spec.webhook.capturedHeaders. Then the events that come from now on can be read.",
	),
	UploadInvalid: permanent(
		"Correct the file, upload it again, then create another Operation.",
	),
	RowsInvalid: permanent(
		"Nothing was added. Correct the file, or set spec.import.skipInvalidRows to add the other rows, then create another Operation.",
	),
	ImportTooLarge: permanent(
		"Nothing was added. Split the files among several Operations.",
	),
	ReportNotStored: passing(
		"Check that the Job's network can reach the S3 endpoint.",
	),
	Superseded: permanent(
		"No action is needed: a later Run has loaded newer data into the table.",
	),
	Stopped: passing(
		"Every day in the table is complete. The next attempt loads the rest.",
		"The next attempt checks it.",
	),
	Unexpected: passing(
		"If it keeps failing, report it with the end of the log, which the status has.",
	),
} satisfies Record<string, ErrorRule>;

export type JobErrorCode = keyof typeof jobErrors;

/** An error of a warehouse, as its type reads it. */
export interface WarehouseRefusal {
	/** Who refuses: the warehouse, with its address. */
	by: string;
	/** As the warehouse calls the error, such as `SQLSTATE 23514`. */
	code: string;
	/**
	 * Its own words, if this error's are known to quote neither a row nor a statement: a type lists the errors whose are, and
	 * any other has none.
	 */
	words?: string | undefined;
	/** What it names as the cause, if that is in fields of their own. */
	constraint?: string | undefined;
	table?: string | undefined;
	column?: string | undefined;
}

/** What a message says of a warehouse's error. People read it in statuses, Events and logs who may not read events. */
export function refusalWords(
	{ by, code, words, constraint, table, column }: WarehouseRefusal,
	refused: "rows" | "a statement" = "a statement",
): string {
	const named = (what: string, name: string | undefined) =>
		name ? [`${what} "${quotedWords(name, maxNameBytes)}"`] : [];
	const place = [...named("column", column), ...named("table", table)];
	return [
		words === undefined
			? `${by} refuses ${refused}`
			: `${by} says: ${quotedWords(words)}`,
		...named("by constraint", words === undefined ? constraint : undefined),
		...(words === undefined && place.length > 0
			? [`in ${place.join(" of ")}`]
			: []),
		`(${quotedWords(code, maxNameBytes)})`,
	].join(" ");
}

const maxNameBytes = 200;

const maxWords = 1_024;

/**
 * A server's own words for people: without control characters, which a log or a terminal would obey, and at most 1 KiB. Only
 * what stands in the protocol's own form of an error may get here: the address may be another server's.
 */
function quotedWords(text: string, maxBytes = maxWords): string {
	const plain = text.replace(/[\p{Cc}\s]+/gu, " ");
	const bytes = Buffer.from(plain);
	if (bytes.length <= maxBytes) return plain;
	return `${bytes
		.subarray(0, maxBytes - 4)
		.toString()
		.replace(/\uFFFD+$/, "")}…`;
}

/**
 * What a log has of an error: its type, its code and the places in the code, and not a word of its message, which may quote
 * what the code was given. Also of what caused it.
 */
export function loggedError(error: unknown): object | undefined {
	if (!(error instanceof Error)) return undefined;
	const { name, message, stack = "", cause } = error;
	const { code } = error as NodeJS.ErrnoException;
	const places = stack.slice(stack.indexOf(message) + message.length);
	const caused = loggedError(cause);
	return {
		type: quotedWords(name, maxNameBytes),
		...(isCode(code) && { code }),
		...(/^\n +at /.test(places) && {
			// The files' names alone: where a platform has them is its own affair.
			stack: places.replace(/(file:\/\/)?\/[^\s()]*\//g, "").trim(),
		}),
		...(caused && { cause: caused }),
	};
}

/** Of Node, of a server or of ours. */
function isCode(code: unknown): code is string {
	return typeof code === "string" && /^[A-Z0-9_]{1,60}$/i.test(code);
}

/** An error that nobody expected, named by its type and its place in the code. */
export function unexpectedFailure(error: unknown): JobFailure {
	const {
		type = typeof error,
		code,
		stack = "",
	} = (loggedError(error) ?? {}) as Record<
		"type" | "code" | "stack",
		string | undefined
	>;
	const [, file, line] =
		/([\w.-]+\.[cm]?[jt]s)(?:\?[^:\s]*)?:(\d+)/.exec(stack) ?? [];
	const words =
		error instanceof DuckDBRefusal
			? error.message
			: `${type}${code ? ` (${code})` : ""}`;
	return new JobFailure(
		"Unexpected",
		`An error that nobody expected: ${words}${file ? `, at ${file}:${line}` : ""}`,
		{ cause: error },
	);
}

/** The processes that Jobs run. */
export type JobRole = "load" | "check" | "operation";

/**
 * A failure of a Job. `what` says what happened to what, and must hold no secret.
 * @typeParam Code A code of `rules`, which are those of all Jobs unless a type of warehouse has its own.
 */
export class JobFailure<Code extends string = JobErrorCode> extends Error {
	override name = "JobFailure";
	readonly code: Code;
	/** A sentence, without advice. */
	readonly what: string;
	/** See {@link JobError}. */
	eventTypes: string[] | undefined;
	takenTables: string[] | undefined;
	columns: JobError["columns"];
	readonly #rule: ErrorRule;

	constructor(
		code: Code,
		what: string,
		options?: ErrorOptions,
		rules: Record<string, ErrorRule> = jobErrors,
	) {
		const sentence = what.replace(/[.\s]*$/, ".");
		super(`${sentence} ${rules[code]!.advice}`, options);
		this.code = code;
		this.what = sentence;
		this.#rule = rules[code]!;
	}

	get retryable(): boolean {
		return this.#rule.retryable;
	}

	get exitCode(): number {
		return this.retryable && !this.#rule.waits
			? jobExitCode.retryable
			: jobExitCode.permanent;
	}

	toJobError(role?: JobRole): JobError {
		const { code, message, retryable, eventTypes, takenTables, columns } = this;
		const { checkAdvice, waits } = this.#rule;
		const advice = role === "check" ? checkAdvice : undefined;
		return {
			code,
			message: advice === undefined ? message : `${this.what} ${advice}`,
			retryable,
			// A check is repeated by the operator's own backoff.
			...(role !== "check" && waits && { waits }),
			...(eventTypes && { eventTypes }),
			...(takenTables && { takenTables }),
			...(columns && { columns }),
		};
	}
}

/** How long to go on after an error. */
export interface Patience {
	attempts: number;
	backoff: BackoffOptions;
	/** What the other side asks for (RFC 9110 §10.2.3). */
	atLeastMs?: number | undefined;
}

interface RetryOptions {
	/** A number means so many attempts with {@link retryBackoff}. */
	attempts: number | ((error: unknown) => Patience);
	signal: AbortSignal;
	/** Whether another attempt can help. */
	isTransient: (error: unknown) => boolean;
	onRetry: (error: unknown, attempt: number) => void;
}

/** Repeats `work` while its errors are transient. Throws the last error, or the signal's reason. */
export async function retry<T>(
	options: RetryOptions,
	work: () => Promise<T>,
): Promise<T> {
	for (let attempt = 1; ; attempt++) {
		try {
			return await work();
		} catch (error) {
			options.signal.throwIfAborted();
			const { attempts, signal } = options;
			const patience =
				typeof attempts === "number"
					? { attempts, backoff: retryBackoff }
					: attempts(error);
			if (attempt >= patience.attempts || !options.isTransient(error))
				throw error;
			options.onRetry(error, attempt);
			await pauseAfter(patience, attempt, signal);
		}
	}
}

/** Waits after a number of failures in a row. Throws the signal's reason. */
export async function pauseAfter(
	{ backoff, atLeastMs = 0 }: Patience,
	failures: number,
	signal: AbortSignal,
): Promise<void> {
	const ms = Math.max(atLeastMs, backoffMs(failures, backoff));
	await delay(ms, undefined, { signal });
}

/** Bounds of the pause between attempts, so that 8 attempts outlast the restart of an S3 gateway. */
export const retryBackoff: BackoffOptions = { baseMs: 250, maxMs: 8_000 };
