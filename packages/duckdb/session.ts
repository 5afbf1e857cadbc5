import {
	type DuckDBDataChunk,
	type DuckDBInstance,
	DuckDBScalarFunction,
	VARCHAR,
} from "@duckdb/node-api";
import { openDatabase } from "./database.ts";
import { refusing } from "./refusal.ts";

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
