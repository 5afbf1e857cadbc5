import { ApiError, TidemillError } from "./errors.ts";
import type { RunsApi } from "./generated/operations.ts";
import type { Run } from "./generated/types.ts";
import { pause } from "./request.ts";
import { RunCancelled, RunFailed, RunNotEnded } from "./run-errors.ts";

/** Lines of its log that the error of a failed Run has. */
const logLines = 20;
/** That the API waits for a Run. */
const maxWaitMs = 60_000;

export interface WaitOptions {
	timeoutMs?: number;
	/** Ends the waiting with the signal's reason. The Run goes on. */
	signal?: AbortSignal;
}

/** A Run that was started: wait for it, cancel it, read its log. */
export class RunHandle {
	readonly #runs: RunsApi;
	/** The Run as last seen. */
	run: Run;

	constructor(runs: RunsApi, run: Run) {
		this.#runs = runs;
		this.run = run;
	}

	get name(): string {
		return this.run.name;
	}

	/**
	 * Waits until the Run has succeeded, and returns it. Throws RunFailed or RunCancelled if it ends otherwise, and RunNotEnded
	 * after `timeoutMs`.
	 */
	async wait({ timeoutMs, signal }: WaitOptions = {}): Promise<Run> {
		const deadline =
			timeoutMs === undefined ? Infinity : Date.now() + timeoutMs;
		while (this.run.completionTime === undefined) {
			const askedAt = Date.now();
			const leftMs = deadline - askedAt;
			if (leftMs <= 0) throw new RunNotEnded(this.run);
			const seconds = Math.ceil(Math.min(leftMs, maxWaitMs) / 1_000);
			this.run = await this.#runs.get(this.name, {
				wait: `${seconds}s`,
				...(signal && { signal }),
			});
			// An API that stops answers early, and is not asked again at once.
			if (this.run.completionTime === undefined)
				await pause(Math.max(0, askedAt + 1_000 - Date.now()), signal);
		}
		if (this.run.status === "Cancelled") throw new RunCancelled(this.run);
		if (this.run.status !== "Succeeded")
			throw new RunFailed(this.run, await this.#endOfLog());
		return this.run;
	}

	/** Stops the Run. Does nothing if it has ended. */
	async cancel(): Promise<void> {
		try {
			this.run = await this.#runs.cancel(this.name, {
				idempotencyKey: "cancel",
			});
		} catch (error) {
			if (!(error instanceof ApiError && error.status === 409)) throw error;
		}
	}

	/** The last lines of its log. */
	log(tail?: number): Promise<string> {
		return this.#runs.getLogs(this.name, tail === undefined ? {} : { tail });
	}

	async #endOfLog(): Promise<string> {
		try {
			return await this.log(logLines);
		} catch (error) {
			if (error instanceof TidemillError) return "";
			throw error;
		}
	}
}
