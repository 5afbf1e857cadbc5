import { readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import {
	type CheckInput,
	type JobResult,
	jobEnv,
	jobExitCode,
	type LoadInput,
	maxLogBytes,
	maxLogEndBytes,
	maxResultBytes,
} from "../../packages/contracts/job.ts";
import { isOutOfMemory } from "../../packages/duckdb/memory.ts";
import { DuckDBRefusal } from "../../packages/duckdb/session.ts";
import { createLog, type Logger } from "../../packages/service/log.ts";
import { Settings } from "../../packages/service/settings.ts";
import { stopSignal } from "../../packages/service/start-order.ts";
import {
	contextOf,
	maxLinks,
	newContext,
	parseTraceparent,
	type TraceContext,
} from "../../packages/service/trace-context.ts";
import { openTracing, type Tracing } from "../../packages/service/tracing.ts";
import {
	JobFailure,
	type JobRole,
	loggedError,
	unexpectedFailure,
} from "../../packages/warehouses/load/failure.ts";
import type { WarehouseContext } from "../../packages/warehouses/load/warehouse.ts";
import { knownTypes, warehouses } from "../../packages/warehouses/registry.ts";

/** The command line of a Job. */
export interface JobOptions {
	/** The file with its input. */
	input?: string | undefined;
}

export interface JobContext extends WarehouseContext {
	/** Undefined unless the operator traces Runs. */
	trace?: JobTrace | undefined;
	/** Registers where the result and the end of the log are stored. Called once the work has ended; `store` never throws. */
	onResult(store: (result: JobResult, log: string) => Promise<void>): void;
}

export type JobSuccess = Extract<JobResult, { outcome: "Succeeded" }>;

/**
 * Runs a Job's process: reads the input's file, does the work, writes the {@link JobResult} to the file that
 * {@link jobEnv.result} names, and returns the exit code (packages/contracts/job.ts). Never throws.
 */
export async function runJob<Input>(
	role: JobRole,
	file: JobOptions["input"],
	parse: (text: string) => Input,
	work: (input: Input, context: JobContext) => Promise<JobSuccess>,
): Promise<number> {
	const settings = new Settings();
	const logEnd = new LogEnd();
	const log = createLog(role, logEnd);
	const signal = stopSignal();
	const trace = await JobTrace.open(role, settings, log);
	return await perform(
		role,
		{ log, logEnd, signal, trace },
		async (onResult) => {
			const resultFile = settings.optional(jobEnv.result);
			if (resultFile) onResult((result) => writeResult(resultFile, result));
			return work(parse(await readInput(file)), {
				log,
				signal,
				trace,
				scratch: settings.text(jobEnv.scratch, tmpdir()),
				warehouse: settings.optional(jobEnv.warehouse),
				busyWaitMs: settings.integer(
					"TIDEMILL_BUSY_WAIT_MS",
					[0, 3_600_000],
					60_000,
				),
				onResult,
			});
		},
	);
}

/** Does a Job's work, logs how it ended and has the result stored. Returns the exit code. */
export async function perform(
	role: JobRole,
	{
		log,
		logEnd,
		signal,
		trace,
	}: Pick<JobContext, "log" | "signal"> &
		Partial<Pick<JobContext, "trace">> & { logEnd: LogEnd },
	work: (onResult: JobContext["onResult"]) => Promise<JobSuccess>,
): Promise<number> {
	const stores: Parameters<JobContext["onResult"]>[0][] = [];
	let result: JobResult;
	let exitCode: number = jobExitCode.succeeded;
	try {
		result = await work((store) => stores.push(store));
		log.info(result, `${role} succeeded`);
	} catch (error) {
		const failure = toFailure(error, signal);
		exitCode = failure.exitCode;
		result = { version: 1, outcome: "Failed", error: failure.toJobError(role) };
		log.error(
			{ ...result.error, err: loggedError(failure.cause) },
			`${role} failed`,
		);
	}
	result = { ...result, log: logEnd.last(maxLogEndBytes) };
	const whole = logEnd.last(maxLogBytes);
	for (const store of stores) await store(result, whole);
	await trace?.ended(
		result.outcome === "Failed" ? result.error.code : undefined,
	);
	return exitCode;
}

async function readInput(file: string | undefined): Promise<string> {
	try {
		if (!file) throw new Error("--input <file> is missing");
		return await readFile(file, "utf8");
	} catch (error) {
		throw new JobFailure("InputInvalid", (error as Error).message);
	}
}

function toFailure(error: unknown, signal: AbortSignal): JobFailure {
	if (signal.aborted)
		return new JobFailure("Stopped", "The Pod was told to stop", {
			cause: error,
		});
	if (error instanceof JobFailure) return error;
	if (!isOutOfMemory(error)) return unexpectedFailure(error);
	const words = error instanceof DuckDBRefusal ? `: ${error.message}` : "";
	return new JobFailure("OutOfMemory", `Memory wasn't enough${words}`, {
		cause: error,
	});
}

/**
 * Keeps the last lines of a log, which outlive the Pod. Nobody needs a permission for the namespace's Pods to read them.
 */
export class LogEnd {
	readonly #lines: string[] = [];
	#bytes = 0;

	/** @param line ends with a line feed, as pino writes it. */
	write(line: string): void {
		const bytes = Buffer.byteLength(line);
		if (bytes > maxLogBytes) return;
		this.#lines.push(line);
		this.#bytes += bytes;
		while (this.#bytes > maxLogBytes)
			this.#bytes -= Buffer.byteLength(this.#lines.shift()!);
	}

	/** Whole lines, the last ones, of at most so many bytes. A longer line is left out. */
	last(maxBytes: number): string {
		const lines: string[] = [];
		let room = maxBytes;
		for (const line of this.#lines.toReversed()) {
			const bytes = Buffer.byteLength(line);
			if (bytes > maxBytes) continue;
			if (bytes > room) break;
			room -= bytes;
			lines.push(line);
		}
		return lines.reverse().join("");
	}
}

/**
 * A Job's result as the text of its termination message: valid JSON of at most {@link maxResultBytes}. The log has the last
 * lines for which there is room.
 */
export function encodeResult({ log, ...result }: JobResult): string {
	const text = encodeShort(result);
	const lines = log?.match(/.*\n/g) ?? [];
	for (let first = 0; first < lines.length; first++) {
		const end = { log: lines.slice(first).join("") };
		const withLog = JSON.stringify({ ...JSON.parse(text), ...end });
		if (fits(withLog)) return withLog;
	}
	return text;
}

/** An error's message is cut, between two characters. */
function encodeShort(result: JobResult): string {
	const whole = JSON.stringify(result);
	if (result.outcome === "Succeeded" || fits(whole)) return whole;
	const { error } = result;
	const characters = Array.from(error.message);
	const cut = (length: number) =>
		JSON.stringify({
			...result,
			error: {
				...error,
				message: `${characters.slice(0, length).join("")}…`,
			},
		});
	let [enough, tooMany] = [0, characters.length];
	while (tooMany - enough > 1) {
		const middle = Math.floor((enough + tooMany) / 2);
		if (fits(cut(middle))) enough = middle;
		else tooMany = middle;
	}
	return cut(enough);
}

/** Writes in place, since kubelet mounts the file into the Pod. */
export async function writeResult(
	file: string,
	result: JobResult,
): Promise<void> {
	await writeFile(file, encodeResult(result));
}

function fits(text: string): boolean {
	return Buffer.byteLength(text) <= maxResultBytes;
}

/** The span of a Job's process, below that of the Run that the variable TRACEPARENT names, with links to the objects it loads. */
class JobTrace {
	readonly #role: string;
	readonly #tracing: Tracing;
	readonly #parent: TraceContext;
	readonly #startMs = Date.now();
	#keys: readonly string[] = [];

	/** Undefined without a collector or a parent. A wrong setting costs the trace alone. */
	static async open(
		role: string,
		settings: Settings,
		log: Logger,
	): Promise<JobTrace | undefined> {
		const parent = parseTraceparent(settings.optional("TRACEPARENT"));
		if (!parent?.isSampled) return undefined;
		try {
			const tracing = await openTracing(role, settings, log);
			return tracing && new JobTrace(role, tracing, parent);
		} catch (error) {
			log.warn({ reason: (error as Error).name }, "the Job has no trace");
			return undefined;
		}
	}

	private constructor(role: string, tracing: Tracing, parent: TraceContext) {
		this.#role = role;
		this.#tracing = tracing;
		this.#parent = parent;
	}

	/** @param keys in the order of their dates. */
	loads(keys: readonly string[]): void {
		this.#keys = keys;
	}

	/** @param failure the error's code. */
	async ended(failure: string | undefined): Promise<void> {
		// The newest are those that people look for.
		const linked = this.#keys.slice(-maxLinks);
		this.#tracing.record({
			name: this.#role,
			kind: "consumer",
			context: newContext(this.#parent),
			parent: this.#parent,
			links: linked.map((key) => ({
				context: contextOf("object", key),
				attributes: { "tidemill.object.key": key },
			})),
			startMs: this.#startMs,
			endMs: Date.now(),
			attributes: { "tidemill.objects": this.#keys.length },
			error: failure,
		});
		await this.#tracing.stop();
	}
}

/** Parses a Job's `input.json` as a {@link LoadInput}. Throws {@link JobFailure} InputInvalid. */
export function parseLoadInput(text: string): LoadInput {
	const input = parse(text) as LoadInput;
	require(typeof input.run?.uid === "string", "run.uid");
	require(typeof input.table?.name === "string" &&
		input.table.name !== "", "table.name");
	require(Array.isArray(input.table.columns) &&
		input.table.columns.length > 0, "table.columns");
	require(typeof input.manifestURL === "string" &&
		URL.canParse(input.manifestURL), "manifestURL");
	require(input.strategy === "Incremental" ||
		input.strategy === "FullReload", "strategy");
	const hasDate = input.table.columns.some(({ from }) => from === "Date");
	require(hasDate ===
		(input.strategy ===
			"Incremental"), "strategy: Incremental needs the Date column, FullReload excludes it");
	return input;
}

/** Parses a Job's `input.json` as a {@link CheckInput}. Throws {@link JobFailure} InputInvalid. */
export function parseCheckInput(text: string): CheckInput {
	return parse(text) as CheckInput;
}

function parse(text: string): unknown {
	let input: unknown;
	try {
		input = JSON.parse(text);
	} catch {
		throw new JobFailure("InputInvalid", "The Job's input is not JSON");
	}
	const { version, destination } = (input ?? {}) as Partial<LoadInput>;
	if (version !== 1)
		throw new JobFailure(
			"InputInvalid",
			`The Job's input has version ${version}, but this image reads version 1`,
		);
	requireDestination(destination);
	return input;
}

function requireDestination(destination?: Record<string, unknown>): void {
	const type = String(destination?.type);
	const definition = warehouses.get(type);
	if (!definition)
		throw new JobFailure(
			"InputInvalid",
			`The Job's input names a destination of type ${type}, but this image knows only ${knownTypes()}`,
		);
	for (const field of definition.inputTexts)
		require(typeof destination?.[field] === "string", `destination.${field}`);
}

function require(holds: boolean, field: string): void {
	if (!holds)
		throw new JobFailure(
			"InputInvalid",
			`The Job's input has no valid ${field}`,
		);
}
