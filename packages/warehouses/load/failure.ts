import { type JobError, jobExitCode } from "../../contracts/job.ts";
import type { JobErrorRule } from "../definition/definition.ts";

/**
 * The failures of `tidemill load`, `check` and `operation`, whatever the warehouse; each type has others of its own. The code
 * and the message appear in the status of the Run, Destination or Operation.
 */
export const jobErrors = {
	InputInvalid: {
		retryable: false,
		advice: "Run the same version of the operator and the Job image.",
	},
	ManifestUnavailable: {
		retryable: true,
		advice: "Check that the Job's network can reach the S3 endpoint.",
	},
	// Every attempt of a Run has the same links.
	ManifestExpired: {
		retryable: false,
		advice: "Start a new Run to get new links.",
	},
	ManifestInvalid: {
		retryable: false,
		advice:
			"Start a new Run. If it fails too, check that archive and the Job image have the same version.",
	},
	ObjectUnavailable: {
		retryable: true,
		advice: "Check that the Job's network can reach the S3 endpoint.",
	},
	ObjectMissing: {
		retryable: false,
		advice:
			"Start a new Run. If the object is still missing, it was deleted from the bucket: restore it.",
	},
	ObjectMismatch: {
		retryable: false,
		advice:
			"The table is unchanged. Restore the object in the bucket, then start a new Run.",
	},
	ScratchFull: {
		retryable: true,
		advice:
			"Raise ephemeral-storage in the Pipeline's spec.runTemplate.resources, or free space on the node.",
		checkAdvice:
			"Raise ephemeral-storage in the Destination's spec.checkTemplate.resources, or free space on the node.",
	},
	TableIncompatible: {
		retryable: false,
		advice:
			"Change the Pipeline's spec.table.name, or set spec.table.onIncompatible: Rebuild to replace the table.",
	},
	TableNotOurs: {
		retryable: false,
		advice:
			"Set the Pipeline's spec.table.name to another name; or set spec.table.adopt: true to take the table over (if it is true already, a Run has used it up: remove it first); or drop the table and start a Run.",
	},
	// The operator answers with the whole window, so people see this only if the Run's time is over.
	TableIncomplete: {
		retryable: false,
		advice:
			"The table is unchanged. Start a new Run with spec.full: true, which loads all days.",
	},
	OutOfMemory: {
		retryable: false,
		advice:
			"Every day in the table is complete. Raise the memory in the Pipeline's spec.runTemplate.resources.",
		checkAdvice:
			"Raise the memory in the Destination's spec.checkTemplate.resources.",
	},
	RowsDiffer: {
		retryable: false,
		advice:
			"Start a new Run, which replaces the day again. If it keeps failing, report it with the end of the log, which the status has.",
	},
	PlanInvalid: {
		retryable: false,
		advice: "Correct the plan, then create another Operation.",
	},
	EventTypeUnknown: {
		retryable: false,
		advice:
			"Add the header to the Source's spec.webhook.capturedHeaders. Then the events that come from now on can be read.",
	},
	UploadInvalid: {
		retryable: false,
		advice: "Correct the file, upload it again, then create another Operation.",
	},
	RowsInvalid: {
		retryable: false,
		advice:
			"Nothing was added. Correct the file, or set spec.import.skipInvalidRows to add the other rows, then create another Operation.",
	},
	ImportTooLarge: {
		retryable: false,
		advice: "Nothing was added. Split the files among several Operations.",
	},
	ReportNotStored: {
		retryable: true,
		advice: "Check that the Job's network can reach the S3 endpoint.",
	},
	Superseded: {
		retryable: false,
		advice:
			"No action is needed: a later Run has loaded newer data into the table.",
	},
	Stopped: {
		retryable: true,
		advice:
			"Every day in the table is complete. The next attempt loads the rest.",
		checkAdvice: "The next attempt checks it.",
	},
	Unexpected: {
		retryable: true,
		advice:
			"If it keeps failing, report it with the end of the log, which the status has.",
	},
} as const satisfies Record<string, JobErrorRule>;

export type JobErrorCode = keyof typeof jobErrors;

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
	readonly #rule: JobErrorRule;

	constructor(
		code: Code,
		what: string,
		options?: ErrorOptions,
		rules: Record<string, JobErrorRule> = jobErrors,
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
		return this.retryable ? jobExitCode.retryable : jobExitCode.permanent;
	}

	toJobError(role?: JobRole): JobError {
		const { code, message, retryable } = this;
		const advice = role === "check" ? this.#rule.checkAdvice : undefined;
		return {
			code,
			message: advice === undefined ? message : `${this.what} ${advice}`,
			retryable,
		};
	}
}
