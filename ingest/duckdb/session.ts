import type { DuckDBInstance } from "@duckdb/node-api";

const progressMs = 1_000;

type Value = string | number | bigint | boolean | Date | null;

/** One connection to DuckDB whose running statement ends when the signal fires. */
export class Session {
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
	 * Runs a statement and returns how many rows it changed. Throws DuckDB's error, or the signal's reason.
	 * @param onProgress told every second which share of the work is done, from 0 to 1, as DuckDB estimates it.
	 */
	async run(
		sql: string,
		onProgress?: (share: number) => void,
	): Promise<number> {
		this.#signal.throwIfAborted();
		if (!onProgress) return (await this.#connection.run(sql)).rowsChanged;
		// DuckDB counts only for a progress bar; we show our own.
		await this.#connection.run(
			"SET enable_progress_bar = true; SET enable_progress_bar_print = false; SET progress_bar_time = 0",
		);
		const timer = setInterval(() => {
			const { percentage } = this.#connection.progress;
			// Below 0 while it is not known.
			if (percentage >= 0) onProgress(Math.min(1, percentage / 100));
		}, progressMs);
		try {
			return (await this.#connection.run(sql)).rowsChanged;
		} finally {
			clearInterval(timer);
		}
	}

	/** Runs a query and returns its rows; 64-bit integers are bigints. */
	async rows<Row extends Record<string, Value>>(sql: string): Promise<Row[]> {
		this.#signal.throwIfAborted();
		return (await this.#connection.run(sql)).getRowObjectsJS() as Promise<
			Row[]
		>;
	}

	/**
	 * Runs `work` in one transaction: all of it, or after any error, signal or crash none of it.
	 */
	async transaction(work: () => Promise<void>): Promise<void> {
		await this.run("BEGIN TRANSACTION");
		try {
			await work();
			await this.run("COMMIT");
		} catch (error) {
			// Some errors have ended the transaction already; closing the file ends it in any case.
			await this.#connection.run("ROLLBACK").catch(() => undefined);
			throw error;
		}
	}

	/** Closes the connection and its database, and so gives the file free. */
	close(): void {
		this.#signal.removeEventListener("abort", this.#interrupt);
		this.#connection.closeSync();
		this.#instance.closeSync();
	}
}
