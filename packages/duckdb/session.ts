import "./allocator.ts";
import { setTimeout as delay } from "node:timers/promises";
// @duckdb/node-api: DuckDB in this process, by its makers; there is no server to talk to.
import {
	type DuckDBDataChunk,
	DuckDBInstance,
	DuckDBScalarFunction,
	VARCHAR,
} from "@duckdb/node-api";

const progressMs = 1_000;

type Value = string | number | bigint | boolean | Date | null;

/** One connection to DuckDB. When the signal fires, its running statement ends. */
export class Session {
	/** A session without a database file. `config` is DuckDB's own settings. */
	static async inMemory(
		config: Record<string, string>,
		signal: AbortSignal,
	): Promise<Session> {
		const instance = await openDatabase({
			file: ":memory:",
			waitMs: 0,
			config,
		});
		return Session.open(instance, signal);
	}

	static async open(
		instance: DuckDBInstance,
		signal: AbortSignal,
	): Promise<Session> {
		const session = new Session(instance, await instance.connect(), signal);
		signal.addEventListener("abort", session.#interrupt);
		return session;
	}

	readonly #instance: DuckDBInstance;
	readonly #connection: Awaited<ReturnType<DuckDBInstance["connect"]>>;
	readonly #signal: AbortSignal;
	readonly #functions = new Set<string>();
	readonly #interrupt = () => this.#connection.interrupt();

	private constructor(
		instance: DuckDBInstance,
		connection: Awaited<ReturnType<DuckDBInstance["connect"]>>,
		signal: AbortSignal,
	) {
		this.#instance = instance;
		this.#connection = connection;
		this.#signal = signal;
	}

	/**
	 * Runs a statement and returns how many rows it changed. Throws {@link DuckDBRefusal}, or the signal's reason.
	 * @param onProgress called every second with DuckDB's estimate of the share that is done, from 0 to 1.
	 */
	async run(
		sql: string,
		onProgress?: (share: number) => void,
	): Promise<number> {
		this.#signal.throwIfAborted();
		const change = async () =>
			(await refusing(() => this.#connection.run(sql))).rowsChanged;
		if (!onProgress) return change();
		// DuckDB counts only when it has a progress bar; this one isn't printed.
		await this.#connection.run(
			"SET enable_progress_bar = true; SET enable_progress_bar_print = false; SET progress_bar_time = 0",
		);
		const timer = setInterval(() => {
			const { percentage } = this.#connection.progress;
			// Negative while unknown.
			if (percentage >= 0) onProgress(Math.min(1, percentage / 100));
		}, progressMs);
		try {
			return await change();
		} finally {
			clearInterval(timer);
		}
	}

	/** Runs a query and returns its rows; 64-bit integers are bigints. */
	async rows<Row extends Record<string, Value>>(sql: string): Promise<Row[]> {
		this.#signal.throwIfAborted();
		return refusing(
			async () =>
				(await this.#connection.run(sql)).getRowObjectsJS() as Promise<Row[]>,
		);
	}

	/**
	 * Lets SQL call a function of two texts by this name. A NULL argument gives NULL.
	 * @param isConstant whether SQL calls it with the same second text for all rows: reading a text takes a microsecond.
	 */
	define(
		name: string,
		call: (one: string, other: string) => string,
		{ isConstant = false } = {},
	): void {
		this.register({
			name,
			parameterTypes: [VARCHAR, VARCHAR],
			returnType: VARCHAR,
			mainFunction: (_, input, output) => {
				const [one, other] = [
					input.getColumnVector(0),
					input.getColumnVector(1),
				];
				const { rowCount } = input;
				const first = rowCount > 0 ? other.getItem(0) : null;
				for (let row = 0; row < rowCount; row++) {
					const a = one.getItem(row);
					const b = isConstant ? first : other.getItem(row);
					output.setItem(
						row,
						a === null || b === null ? null : call(String(a), String(b)),
					);
				}
				output.flush();
			},
		});
	}

	/** Lets SQL call any function, unless it has one of this name. */
	register(
		called: Parameters<typeof DuckDBScalarFunction.create>[0] & {
			name: string;
		},
	): void {
		if (this.#functions.has(called.name)) return;
		this.#functions.add(called.name);
		this.#connection.registerScalarFunction(
			DuckDBScalarFunction.create(called),
		);
	}

	/** Runs a query and yields its rows in chunks of at most 2,048, as DuckDB makes them. Throws as {@link run} does. */
	async *chunks(sql: string): AsyncGenerator<DuckDBDataChunk> {
		this.#signal.throwIfAborted();
		const result = await refusing(() => this.#connection.stream(sql));
		const fetchChunk = () => refusing(() => result.fetchChunk());
		let next = fetchChunk();
		try {
			for (;;) {
				const chunk = await next;
				if (!chunk || chunk.rowCount === 0) return;
				// DuckDB makes it while the reader has this one.
				next = fetchChunk();
				next.catch(() => undefined);
				yield chunk;
			}
		} finally {
			await next.catch(() => undefined);
		}
	}

	/** Runs `work` in one transaction: after an error, signal or crash, none of it has happened. */
	async transaction(work: () => Promise<void>): Promise<void> {
		await this.run("BEGIN TRANSACTION");
		try {
			await work();
			await this.run("COMMIT");
		} catch (error) {
			// Some errors end the transaction themselves, and closing the file ends it in any case.
			await this.#connection.run("ROLLBACK").catch(() => undefined);
			throw error;
		}
	}

	/** Closes the connection and its database, which frees the file. */
	close(): void {
		this.#signal.removeEventListener("abort", this.#interrupt);
		this.#connection.closeSync();
		this.#instance.closeSync();
	}
}

/** Another process held the file for the whole wait. The message names it as far as DuckDB knows. */
export class DatabaseBusy extends Error {
	override name = "DatabaseBusy";
}

/**
 * Opens a DuckDB file, waiting while another process holds it.
 * Throws {@link DatabaseBusy} after `waitMs`, the signal's reason when it fires, or {@link DuckDBRefusal}.
 */
export async function openDatabase(options: {
	/** An existing file, or ":memory:". */
	file: string;
	readOnly?: boolean;
	/** How long to wait for a process that holds the file: DuckDB allows one writer or several readers. */
	waitMs: number;
	/** DuckDB's own settings, such as memory_limit. */
	config?: Record<string, string>;
	signal?: AbortSignal;
	/** Called once, if the file is in use. */
	onWait?: (holder: string) => void;
}): Promise<DuckDBInstance> {
	const config = {
		...options.config,
		...(options.readOnly && { access_mode: "READ_ONLY" }),
	};
	const deadline = performance.now() + options.waitMs;
	for (let attempt = 0; ; attempt++) {
		try {
			return await refusing(() => DuckDBInstance.create(options.file, config));
		} catch (error) {
			const holder = lockHolder(error);
			if (holder === undefined) throw error;
			if (attempt === 0) options.onWait?.(holder);
			const leftMs = deadline - performance.now();
			if (leftMs <= 0)
				throw new DatabaseBusy(
					`${options.file} is still in use by ${holder} after ${options.waitMs / 1000} s`,
				);
			// DuckDB can't wait for the lock, so try again, with jitter to keep two waiting processes out of step.
			await delay(Math.min(leftMs, 100 + Math.random() * 200), undefined, {
				signal: options.signal,
			});
		}
	}
}

/** DuckDB's errors have no codes. The lock error has had these words since 0.9. */
function lockHolder(error: unknown): string | undefined {
	if (!(error instanceof DuckDBRefusal)) return undefined;
	if (!error.match(/Could not set lock on file/)) return undefined;
	return (
		error.match(/Conflicting lock is held in (.+?\))/)?.[1] ?? "another process"
	);
}

/** Errors whose first line names files, sizes or tables. Those of all other kinds may quote a key, a text or a statement. */
const quoteless = [
	/^(Catalog|INTERRUPT|Out of Memory|Permission|Serialization) Error: /,
	// One that happened while the file was opened stands in the same line, whatever its kind.
	/^IO Error: (?!.* Error: )/,
	/^TransactionContext Error: Failed to commit: failed to pin block\b/,
	/^FATAL Error: Failed to rollback transaction\./,
];

/**
 * An error of DuckDB as people may read it: DuckDB's errors have no codes, only text, and most of it may quote data. The whole
 * text can be asked for a pattern, and is in no message, log or stack.
 */
export class DuckDBRefusal extends Error {
	override name = "DuckDBRefusal";
	readonly #words: string;

	constructor(words: string) {
		// The lines after the first are advice for people at DuckDB's prompt.
		const line = words.split("\n", 1)[0]!;
		const [kind] = /^[A-Z][A-Za-z ]{0,40} Error(?=:)/.exec(line) ?? [];
		super(
			quoteless.some((pattern) => pattern.test(line))
				? line
				: `DuckDB's ${kind ?? "error"}`,
		);
		this.#words = words;
	}

	/** What a pattern finds in DuckDB's own words. Only a name may leave here. */
	match(pattern: RegExp): RegExpExecArray | null {
		return pattern.exec(this.#words);
	}
}

/** What DuckDB does, with its errors as {@link DuckDBRefusal}. */
export async function refusing<T>(work: () => Promise<T>): Promise<T> {
	try {
		return await work();
	} catch (error) {
		throw error instanceof Error ? new DuckDBRefusal(error.message) : error;
	}
}
