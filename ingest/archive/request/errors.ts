/** Why a question of operator's isn't answered as it wishes; `retryable` says whether asking again can help without a person's help. */
export const requestErrors = {
	QuestionInvalid: {
		retryable: false,
		advice: "Run operator and archive in the same version.",
	},
	ShardNotReady: {
		retryable: true,
		advice:
			"It is tried again by itself; archive's log says what it waits for.",
	},
	ShardStopped: {
		retryable: false,
		advice: "Events stay in the stream until a person has resolved the alarm.",
	},
	ArchiveBusy: {
		retryable: true,
		advice: "Archive is behind; it goes on meanwhile.",
	},
	ManifestTaken: {
		retryable: false,
		advice: "Start a new Run.",
	},
	SourceDeleted: {
		retryable: false,
		advice: "There is nothing left to load.",
	},
	ManifestOutdated: {
		retryable: false,
		advice: "Start a new Run.",
	},
	LedgerMismatch: {
		retryable: true,
		advice:
			"It is tried again by itself. If it stays, compare the cut records of that date with its compaction record: one of them was changed.",
	},
	ObjectMissing: {
		retryable: false,
		advice:
			"Somebody or a lifecycle rule deleted it: restore it, then start a new Run.",
	},
	StoreUnavailable: {
		retryable: true,
		advice: "It is tried again by itself.",
	},
} as const satisfies Record<string, { retryable: boolean; advice: string }>;

export type RequestErrorCode = keyof typeof requestErrors;

/** A failure with its place in {@link requestErrors}. `what` says what happened, to what; it must hold no secret. */
export class RequestFailure extends Error {
	override name = "RequestFailure";
	readonly code: RequestErrorCode;

	constructor(code: RequestErrorCode, what: string, options?: ErrorOptions) {
		super(
			`${what.replace(/[.\s]*$/, ".")} ${requestErrors[code].advice}`,
			options,
		);
		this.code = code;
	}

	/** As it goes into the answer. */
	toAnswer(): { code: string; message: string; retryable: boolean } {
		const { code, message } = this;
		return { code, message, retryable: requestErrors[code].retryable };
	}
}
