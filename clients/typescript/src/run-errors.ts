import { TidemillError } from "./errors.ts";
import type { Run } from "./generated/types.ts";

/** The Run had not ended when the time to wait was over. It goes on. */
export class RunNotEnded extends TidemillError {
	readonly run: Run;

	constructor(run: Run) {
		super(`Run ${run.name} is still ${run.status}. It goes on.`);
		this.run = run;
	}
}

/** The Run failed. The message has its error, what to do, and the end of its log. */
export class RunFailed extends TidemillError {
	readonly run: Run;
	/** The end of the Run's log. Empty if it has none. */
	readonly log: string;
	/** The error's code, from Tidemill's table of errors. */
	readonly code: string;
	/** Whether another Run may succeed without any change. */
	readonly retryable: boolean;

	constructor(run: Run, log: string) {
		const { code, message, retryable } = run.error ?? {
			code: "Unknown",
			message: "The Run has no error.",
			retryable: true,
		};
		const end = log.trim() && `\nEnd of its log:\n${log.trimEnd()}`;
		super(
			`Run ${run.name} of Pipeline ${run.pipeline} failed with ${code}: ${message}${end}`,
		);
		this.run = run;
		this.log = log;
		this.code = code;
		this.retryable = retryable;
	}
}

/** The Run was cancelled. */
export class RunCancelled extends TidemillError {
	readonly run: Run;

	constructor(run: Run) {
		super(
			`Run ${run.name} of Pipeline ${run.pipeline} was cancelled. Days that it had replaced stay replaced.`,
		);
		this.run = run;
	}
}
